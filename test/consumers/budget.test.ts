import { afterEach, expect, test, vi } from 'vitest';
import type { Source } from '../../client/worker/work.ts';
import { budget } from '../../functions/consumers/budget.ts';
import type { SerialConnection } from '../../functions/consumers/serial_connection.ts';

afterEach(() => void vi.useRealTimers());

test.each([
  ['the last task of a lease is reported soon', 1, 3, 10, 300],
  ['while there are statements enough, so is one of several', 2, 15, 10, 300],
  ['with few left, it waits for the others of its lease to be reported together', 2, 3, 10, 1000],
  ['and not when the time is over as well', 2, 3, 0, 300],
])('%s', async (_, tasks, statements, seconds, ms) => {
  vi.useFakeTimers();
  const reports: string[] = [];
  const complete = async (lease: string) => void reports.push(lease);
  const connection = { left: () => statements } as SerialConnection;
  const { of, claimed } = budget(
    connection,
    () => {},
    () => seconds,
  );
  claimed({ leases: [{ lease: 'a', tasks: Array(tasks) }] } as never);
  const telling = of({ complete } as unknown as Source).complete('a', [{ id: '1' }]);
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(reports).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(reports).toEqual(['a']);
  await telling;
});
