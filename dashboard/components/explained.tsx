import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** What a word means: it opens by touch and by keyboard, and a pointer sees it without a click. */
export function Explained({
  text,
  label,
  children,
}: {
  text: string;
  /** What a screen reader says in place of the children. */
  label?: string;
  children: ComponentChildren;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class={label ? 'explained mark' : 'explained'}
        title={text}
        aria-label={label}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {children}
      </button>
      {open && <small class="hint explanation">{text}</small>}
    </>
  );
}
