const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML and its attributes. */
export const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (character) => entities[character] as string);

/** Converts text in backticks to code elements, and escapes the rest. */
export const prose = (text: string) => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>');

export function table(caption: string, head: string[], rows: string[][]): string {
  const heads = head.map((heading) => `<th scope="col">${escaped(heading)}</th>`).join('');
  const lines = rows.map(([first = '', ...rest]) => {
    const cells = rest.map((cell) => `<td>${escaped(cell)}</td>`).join('');
    return `<tr><th scope="row">${escaped(first)}</th>${cells}</tr>`;
  });
  return `<div class="wide" tabindex="0" role="region" aria-label="${escaped(caption)}"><table><caption>${escaped(caption)}</caption>
<thead><tr>${heads}</tr></thead><tbody>${lines.join('\n')}</tbody></table></div>`;
}

export const folded = (summary: string, inner: string) =>
  `<details><summary>${escaped(summary)}</summary>${inner}</details>`;
