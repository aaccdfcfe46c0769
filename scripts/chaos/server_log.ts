import { readFile } from 'node:fs/promises';
import type { ChaosStack } from './stack.ts';

/** What the server complained of, by message, over all its starts (each begins its log anew). */
export function openLogs(stack: ChaosStack) {
  const errors = new Map<string, number>();
  return {
    /** What was said most often. */
    most: (many: number) => [...errors].toSorted((a, b) => b[1] - a[1]).slice(0, many),
    /** Adds what the log holds now. */
    async read(): Promise<void> {
      const text = await readFile(stack.log, 'utf8').catch(() => '');
      for (const [, kind, message = ''] of text.matchAll(
        / (ERROR|PANIC|WARNING|FATAL): {2}(.*)/g,
      )) {
        const key = `${kind}: ${message.replace(/\d+/g, 'N').slice(0, 150)}`;
        errors.set(key, (errors.get(key) ?? 0) + 1);
      }
    },
    /** What no fault explains. */
    broken: () =>
      [...errors.keys()].filter((key) => /PANIC|invalid page|corrupt|could not read/.test(key)),
  };
}

export type Logs = ReturnType<typeof openLogs>;
