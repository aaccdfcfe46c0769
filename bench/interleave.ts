import type { Figure } from './types.ts';

export type Entry = { name: string; window(): Promise<number | null> };

export const median = (values: number[]): number | null => {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
};

/**
 * Runs each entry once per round, with another one first in each round. Returns the medians. An entry whose window
 * fails gets its error as a note instead of a figure, and is skipped from then on.
 */
export async function interleave(
  entries: Entry[],
  rounds: number,
  failed: (name: string, message: string) => void,
): Promise<Record<string, Figure>> {
  const figures: Record<string, Figure> = {};
  for (const { name } of entries) figures[name] = { value: null, windows: [] };
  for (let round = 0; round < rounds; round++) {
    const first = entries.length === 0 ? 0 : round % entries.length;
    for (const { name, window } of [...entries.slice(first), ...entries.slice(0, first)]) {
      const figure = figures[name];
      if (!figure || figure.note) continue;
      try {
        const value = await window();
        if (value !== null) figure.windows.push(value);
      } catch (error) {
        figure.note = error instanceof Error ? error.message : String(error);
        failed(name, figure.note);
      }
    }
  }
  for (const figure of Object.values(figures)) {
    figure.value = figure.note ? null : median(figure.windows);
  }
  return figures;
}
