import { readFileSync } from 'node:fs';
import type { Difference } from '../journal.ts';

/** One measurement of a resource: a name and a number. */
export type Sample = Record<string, number>;

/** The private memory of these processes in MB, without files and shared buffers. An ended process counts as 0. */
export function privateMemory(pids: number[]): number {
  let kilobytes = 0;
  for (const pid of pids) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      kilobytes += Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    } catch {}
  }
  return kilobytes / 1024;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** The usage in the second and the last third of the run. The first third is for warming up. */
export function thirds(samples: Sample[]): Record<string, [second: number, last: number]> {
  const third = Math.floor(samples.length / 3);
  const valuesOf = (name: string, from: number, to: number) =>
    median(samples.slice(from, to).map((sample) => sample[name] ?? 0));
  return Object.fromEntries(
    Object.keys(samples.at(-1) ?? {}).map((name) => [
      name,
      [valuesOf(name, third, 2 * third), valuesOf(name, 2 * third, samples.length)],
    ]),
  );
}

/** Finds resources that grow by more than half plus noise. The load is constant and history is dropped, so none may. */
export function checkResources(samples: Sample[]): Difference[] {
  return Object.entries(thirds(samples)).flatMap(([name, [second, last]]) => {
    if (last <= second * 1.5 + 30) return [];
    const detail = `${second.toFixed(0)}, then ${last.toFixed(0)}`;
    return [{ kind: 'a resource grows', task: name, detail }];
  });
}
