import type { ComponentChildren } from 'preact';

/** A part of a whole, such as the used part of a limit, in words and as a bar. */
export function Bar({
  part,
  whole,
  text,
}: {
  part: number;
  whole: number;
  text: ComponentChildren;
}) {
  const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
  return (
    <div class="bar">
      <span>{text}</span>
      <div class={share === 1 ? 'progress full' : 'progress'} aria-hidden="true">
        <span class="used" style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  );
}
