import { readFileSync } from 'node:fs';
import type { Difference } from '../journal.ts';

/** One measurement of what the system uses: a name and a number. */
export type Sample = Record<string, number>;

/** The memory of these processes that is no file's and no shared buffer, in MB; those that are gone count nothing. */
export function memoryOf(pids: number[]): number {
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

/** What is used in the last third beside what was used in the second: the first is for warming up. */
export function thirds(samples: Sample[]): Record<string, [second: number, last: number]> {
  const third = Math.floor(samples.length / 3);
  const of = (name: string, from: number, to: number) =>
    median(samples.slice(from, to).map((sample) => sample[name] ?? 0));
  return Object.fromEntries(
    Object.keys(samples.at(-1) ?? {}).map((name) => [
      name,
      [of(name, third, 2 * third), of(name, 2 * third, samples.length)],
    ]),
  );
}

/** Under the same load, with history dropped as it ends, nothing may grow by more than half and what noise takes. */
export function judgeResources(samples: Sample[]): Difference[] {
  return Object.entries(thirds(samples)).flatMap(([name, [second, last]]) => {
    if (last <= second * 1.5 + 30) return [];
    const detail = `${second.toFixed(0)}, then ${last.toFixed(0)}`;
    return [{ kind: 'a resource grows', task: name, detail }];
  });
}
