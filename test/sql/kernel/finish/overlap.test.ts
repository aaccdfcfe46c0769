import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { claim, complete, fail, release, task } from '../../verbs.ts';
import { invariantsAfterEach, leased, overlapping } from '../sessions.ts';

databasePerTest();
invariantsAfterEach();

type End = (on: pg.Client, lease: string, ids: string[]) => Promise<unknown>;
const failures = (ids: string[]) => ids.map((id) => ({ id, error: 'e', retry_in_seconds: 0 }));

/** Calls for two of three runs, or for all, with their answer and the number of runs that are ready afterwards. */
const repeated: [name: string, end: End, answer: object, ready: number][] = [
  [
    'completion',
    (on, lease, ids) =>
      complete(
        on,
        lease,
        ids.map((id) => ({ id, result: 'r' })),
      ),
    { completed: 2 },
    0,
  ],
  ['whole completion', (on, lease) => complete(on, lease), { completed: 3 }, 0],
  ['failure', (on, lease, ids) => fail(on, lease, failures(ids)), { failed: 2, dead: 0 }, 2],
  ['release', (on, lease, ids) => release(on, lease, ids), { released: 2 }, 2],
];

test.each(repeated)(
  'a %s repeated before it was answered answers the same, and tries each task once more at most',
  async (_, end, counts, ready) => {
    const { lease, ids } = await leased(3);
    const call = (on: pg.Client) => end(on, lease, ids.slice(0, 2));
    const answer = { ...counts, refused: [] };
    expect(await overlapping(call, call)).toEqual([answer, answer]);
    expect(await claim(client, 'q', { limit: 9 })).toHaveLength(ready);
  },
);

test('a whole completion beside a failed part completes and counts the others', async () => {
  const { lease, ids } = await leased(3);
  const [, whole] = await overlapping(
    (on) => fail(on, lease, [{ id: ids[0], fatal: true }]),
    (on) => complete(on, lease),
  );
  expect(whole).toEqual({ completed: 2, refused: [] });
  expect((await task(client, ids[0] as string))?.state).toBe('dead');
});

test('a part after a concurrent whole completion changes nothing', async () => {
  const { lease, ids } = await leased(2);
  const [, part] = await overlapping(
    (on) => complete(on, lease),
    (on) => fail(on, lease, [{ id: ids[0], error: 'late' }]),
  );
  expect(part).toBeUndefined();
  expect((await task(client, ids[0] as string))?.state).toBe('done');
});
