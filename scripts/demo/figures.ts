/** A box of two columns, names and figures. */
export function figures(rows: Record<string, number>): string {
  const entries = Object.entries(rows).map(([name, value]) => [name, String(value)] as const);
  const nameWidth = Math.max(...entries.map(([name]) => name.length));
  const right = Math.max(...entries.map(([, value]) => value.length));
  const border = `+-${'-'.repeat(nameWidth)}-+-${'-'.repeat(right)}-+`;
  const lines = entries.map(
    ([name, value]) => `| ${name.padEnd(nameWidth)} | ${value.padStart(right)} |`,
  );
  return `${[border, ...lines, border].join('\n')}\n`;
}
