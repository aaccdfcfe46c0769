import type { Case } from '../types.ts';
import { best } from '../windows.ts';

export type Standing = 'better' | 'even' | 'worse';

/** Nearer than this is no difference: windows of one run differ by more. */
const EVEN = 0.05;

/** Whether more is better: of rates and ratios, not of costs. */
const moreIsBetter = (unit: string) => unit === 'ratio' || unit.endsWith('/s');

/** Tock's figure as a part of the best peer's: of rates and ratios the highest is, of costs the lowest. */
export function toBest({ unit, tock, peers }: Case): number | null {
  const found = best.flatMap((name) => peers[name] ?? []);
  if (tock === null || found.length === 0) return null;
  return tock / (moreIsBetter(unit) ? Math.max(...found) : Math.min(...found));
}

/** How many times better Tock is than the best peer, whichever way its unit counts; below 1 it is worse. */
export function advantage(one: Case): number | null {
  const part = toBest(one);
  if (part === null) return null;
  return moreIsBetter(one.unit) ? part : 1 / part;
}

export function standing(one: Case): Standing | null {
  const found = advantage(one);
  if (found === null) return null;
  if (Math.abs(found - 1) < EVEN) return 'even';
  return found > 1 ? 'better' : 'worse';
}
