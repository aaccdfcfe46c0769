import { Check, Copy } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

/** A button that copies the text. */
export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  // Browsers offer the clipboard only to pages from https or this machine.
  if (!navigator.clipboard) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <button type="button" class="quiet small" onClick={copy} onBlur={() => setCopied(false)}>
      <Icon of={copied ? Check : Copy} /> {copied ? 'Copied' : 'Copy'}
    </button>
  );
}

/** An empty list: why it is empty, and the command that fills it. */
export function Empty({ command, children }: { command: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{children}</p>
      <div class="command">
        <code>{command}</code>
        <CopyButton text={command} />
      </div>
    </div>
  );
}
