export const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** Returns a whole number from 0 to `below` - 1. The same seed gives the same sequence. */
export type Random = (below: number) => number;

export function dice(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

/** Chooses one of the entries, with a probability proportional to its share. */
export function chosen<T>(random: Random, shares: [share: number, entry: T][]): T {
  let remaining = random(shares.reduce((sum, [share]) => sum + share, 0));
  for (const [share, entry] of shares) {
    remaining -= share;
    if (remaining < 0) return entry;
  }
  throw new Error('There are no entries to choose from.');
}
