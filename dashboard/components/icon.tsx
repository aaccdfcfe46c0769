import type { IconNode } from 'lucide';
import { h } from 'preact';

/** An icon of Lucide, in the colour and size of the text around it. Screen readers skip it: words stand beside it. */
export function Icon({ of }: { of: IconNode }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {of.map(([tag, attributes]) => h(tag, attributes as object))}
    </svg>
  );
}
