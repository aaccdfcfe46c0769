/** A box of two columns, names and figures. */
export function figures(rows: Record<string, number>): string {
  const entries = Object.entries(rows).map(([name, value]) => [name, String(value)] as const);
  const left = Math.max(...entries.map(([name]) => name.length));
  const right = Math.max(...entries.map(([, value]) => value.length));
  const edge = `+-${'-'.repeat(left)}-+-${'-'.repeat(right)}-+`;
  const lines = entries.map(
    ([name, value]) => `| ${name.padEnd(left)} | ${value.padStart(right)} |`,
  );
  return `${[edge, ...lines, edge].join('\n')}\n`;
}
