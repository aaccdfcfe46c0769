import { expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  complete,
  enqueue,
  expire,
  numberedTasks,
  pidOf,
  type Run,
  reap,
  refusal,
  rows,
  value,
  waitUntilBlocked,
} from '../../verbs.ts';

databasePerFile();

const own = (
  on: Pick<typeof client, 'query'>,
  queue: string,
  worker: unknown,
  seconds: unknown = null,
) => rows<Run>(on, 'select * from tock.claim_for_worker($1, $2, $3)', [queue, worker, seconds]);

test('a worker that claims one at a time gets its own task again instead of a second one', async () => {
  await enqueue(client, 'own', numberedTasks(3));
  const [first] = await own(client, 'own', 'a');
  const [again] = await own(client, 'own', 'a', 600);
  expect(again).toMatchObject({ lease: first?.lease, id: first?.id, payload: first?.payload });
  expect(Number(again?.leased_until)).toBeGreaterThan(Number(first?.leased_until));
  const [other] = await own(client, 'own', 'b');
  expect(other?.id).not.toBe(first?.id);
  await complete(client, first?.lease as string);
  const [next] = await own(client, 'own', 'a');
  expect(new Set([first?.id, other?.id, next?.id]).size).toBe(3);
  expect(await own(client, 'own', 'c')).toEqual([]);
  expect(await value(client, "select (tock.claim_state('{own}')).state")).toBe('empty');
});

/** Repeats a call that has waited too long for a lock, as a worker does. */
const ownAgain = (
  on: Parameters<typeof own>[0],
  queue: string,
  worker: string,
): ReturnType<typeof own> =>
  own(on, queue, worker).catch((error) => {
    if (error.code !== '55P03') throw error;
    return ownAgain(on, queue, worker);
  });

test('sixteen concurrent calls of a worker get one task', async () => {
  await enqueue(client, 'many', numberedTasks(20));
  const all = await Promise.all(Array.from({ length: 16 }, () => db.connect()));
  for (let round = 0; round < 5; round++) {
    const answers = (await Promise.all(all.map((on) => ownAgain(on, 'many', 'a')))).flat();
    expect(answers).toHaveLength(16);
    expect(new Set(answers.map(({ lease, id }) => `${lease} ${id}`)).size).toBe(1);
    await complete(client, answers[0]?.lease as string);
  }
});

test('a lost lease no longer belongs to the worker', async () => {
  await enqueue(client, 'lost', numberedTasks(1));
  const [first] = await own(client, 'lost', 'a');
  await expire(client, first?.lease as string);
  await reap(client);
  const [next] = await own(client, 'lost', 'b');
  expect(next).toMatchObject({ id: first?.id, attempt: 2 });
  expect(await own(client, 'lost', 'a')).toEqual([]);
});

/** Moves the claims of a queue's workers back by three days. */
const days = (queue: string) =>
  client.query(
    "update tock.worker_leases set claimed_at = now() - interval '3 days' where queue = $1",
    [queue],
  );

test('stale worker leases are pruned, and open ones stay', async () => {
  await days('own');
  const [held] = await own(client, 'own', 'a');
  await days('own');
  await client.query('select tock.prune()');
  const kept = await rows(
    client,
    "select queue, worker from tock.worker_leases where queue in ('own', 'lost') order by 1, 2",
  );
  expect(kept.map(({ queue, worker }) => `${queue} ${worker}`)).toEqual([
    'lost a',
    'lost b',
    'own a',
    'own b',
  ]);
  expect((await own(client, 'own', 'a'))[0]?.id).toBe(held?.id);
});

test('a lease that is claimed during pruning stays, and pruning waits for no claim', async () => {
  await enqueue(client, 'tidied', numberedTasks(3));
  const [first] = await own(client, 'tidied', 'a');
  await complete(client, first?.lease as string);
  await days('tidied');
  const open = await begin();
  const [second] = await own(open, 'tidied', 'a');
  await client.query(
    `set lock_timeout = ${conditionTimeout}; select tock.prune(); reset lock_timeout`,
  );
  await open.query('commit');
  const [third] = await own(client, 'tidied', 'a');
  expect(third?.id).toBe(second?.id);
});

test('a worker that is pruned while it claims has one task', async () => {
  await enqueue(client, 'forgotten', numberedTasks(3));
  const [first] = await own(client, 'forgotten', 'a');
  await complete(client, first?.lease as string);
  await days('forgotten');
  // Stops the claim after it has inserted the worker's row and before it locks this row.
  await client.query(`create function public.pause() returns trigger language plpgsql
      as 'begin perform pg_advisory_xact_lock_shared(4711); return null; end';
    create trigger pause after insert on tock.worker_leases execute function public.pause()`);
  const [open, other] = await Promise.all([db.connect(), db.connect()]);
  const pid = await pidOf(other);
  await open.query('select pg_advisory_lock(4711)');
  const claimed = own(other, 'forgotten', 'a');
  await waitUntilBlocked(client, pid);
  await client.query('select tock.prune()');
  await open.query('select pg_advisory_unlock(4711)');
  const [second] = await claimed;
  expect((await own(client, 'forgotten', 'a'))[0]?.id).toBe(second?.id);
  await client.query('drop function public.pause() cascade');
});

test.each([
  ['worker', ['own', null]],
  ['worker', ['own', '']],
  ['worker', ['own', 'x'.repeat(201)]],
  ['lease_seconds', ['own', 'a', 0]],
  ['queue', ['no queue', 'a']],
] as const)('%s is refused with its field (%#)', async (field, [queue, worker, seconds]) => {
  const refused = await refusal(own(client, queue, worker, seconds ?? null));
  expect(refused).toMatchObject({ code: 'TK422', detail: field });
});
