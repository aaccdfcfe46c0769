/** A small line of the last values, unless all are zero. Null is unknown: a gap. The caller shows the numbers beside it. */
export function Spark({ values }: { values: readonly (number | null)[] }) {
  const max = Math.max(0, ...values.map((v) => v ?? 0));
  if (values.length < 2 || max === 0) return null;
  const place = (n: number) => ((n / (values.length - 1)) * 78 + 1).toFixed(1);
  const lines: [x: string, y: string][][] = [[]];
  values.forEach((v, n) => {
    if (v === null) lines.push([]);
    else lines.at(-1)?.push([place(n), (19 - (v / max) * 17).toFixed(1)]);
  });
  return (
    <svg class="spark" viewBox="0 0 80 20" width="80" height="20" aria-hidden="true">
      {lines.map((line) => {
        const [first, last] = [line[0], line.at(-1)];
        if (!first || !last) return null;
        const points = line.join(' ');
        return (
          <g key={first[0]}>
            <polygon points={`${first[0]},19 ${points} ${last[0]},19`} />
            {/* The last point twice, so that a point between two gaps is a dot. */}
            <polyline points={`${points} ${last}`} />
          </g>
        );
      })}
    </svg>
  );
}
