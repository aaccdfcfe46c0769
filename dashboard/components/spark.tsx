/** A small line of the last values. The caller shows the numbers beside it. */
export function Spark({ values }: { values: readonly number[] }) {
  if (values.length < 2) return null;
  const max = Math.max(...values, 1);
  const points = values
    .map(
      (v, n) =>
        `${((n / (values.length - 1)) * 78 + 1).toFixed(1)},${(19 - (v / max) * 17).toFixed(1)}`,
    )
    .join(' ');
  return (
    <svg class="spark" viewBox="0 0 80 20" width="80" height="20" aria-hidden="true">
      <polyline points={points} />
    </svg>
  );
}
