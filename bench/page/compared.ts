import type { Case } from '../types.ts';
import { best } from '../windows.ts';

export type Standing = 'better' | 'even' | 'worse';

/** A difference up to this share does not count, because windows of one run differ by more. */
const EVEN = 0.05;

/** True for rates and ratios, where more is better; false for costs. */
const moreIsBetter = (unit: string) => unit === 'ratio' || unit.endsWith('/s');

/** Tock's figure divided by the best peer's: the highest rate or ratio, the lowest cost. */
export function toBest({ unit, tock, peers }: Case): number | null {
  const values = best.flatMap((name) => peers[name] ?? []);
  if (tock === null || values.length === 0) return null;
  return tock / (moreIsBetter(unit) ? Math.max(...values) : Math.min(...values));
}

/** How many times better Tock is than the best peer, whatever its unit; below 1 it is worse. */
export function advantage(benchCase: Case): number | null {
  const part = toBest(benchCase);
  if (part === null) return null;
  return moreIsBetter(benchCase.unit) ? part : 1 / part;
}

export function standing(benchCase: Case): Standing | null {
  const factor = advantage(benchCase);
  if (factor === null) return null;
  if (Math.abs(factor - 1) < EVEN) return 'even';
  return factor > 1 ? 'better' : 'worse';
}
