/** A small line of the last values, unless all are zero. The caller shows the numbers beside it. */
export function Spark({ values }: { values: readonly number[] }) {
  const max = Math.max(0, ...values);
  if (values.length < 2 || max === 0) return null;
  const points = values
    .map(
      (v, n) =>
        `${((n / (values.length - 1)) * 78 + 1).toFixed(1)},${(19 - (v / max) * 17).toFixed(1)}`,
    )
    .join(' ');
  return (
    <svg class="spark" viewBox="0 0 80 20" width="80" height="20" aria-hidden="true">
      <polygon points={`1,19 ${points} 79,19`} />
      <polyline points={points} />
    </svg>
  );
}
