import { readFile } from 'node:fs/promises';
import type { ChaosStack } from './stack.ts';

/** Counts the errors and warnings in the server's logs by message. Each start of the server begins a new log. */
export function openLogs(stack: ChaosStack) {
  const errors = new Map<string, number>();
  return {
    /** The most frequent messages. */
    most: (limit: number) => [...errors].toSorted((a, b) => b[1] - a[1]).slice(0, limit),
    /** Adds the contents of the current log. */
    async read(): Promise<void> {
      const text = await readFile(stack.log, 'utf8').catch(() => '');
      for (const [, kind, message = ''] of text.matchAll(
        / (ERROR|PANIC|WARNING|FATAL): {2}(.*)/g,
      )) {
        const key = `${kind}: ${message.replace(/\d+/g, 'N').slice(0, 150)}`;
        errors.set(key, (errors.get(key) ?? 0) + 1);
      }
    },
    /** The messages that no fault explains. */
    broken: () =>
      [...errors.keys()].filter((key) => /PANIC|invalid page|corrupt|could not read/.test(key)),
  };
}

export type Logs = ReturnType<typeof openLogs>;
