import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  enqueue,
  expire,
  fail,
  leaseOf,
  reap,
  release,
  promote as sweep,
  task,
  value,
} from '../../verbs.ts';
import { payloadsOf, promoteAndClaim, putQueue, tasksWithKey } from './concurrency_keys.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const put = (queue: string, settings: object) =>
  client.query('select tock.put_concurrency_key($1, $2, $3)', [queue, 'k', settings]);

/** Makes the waiting tasks of a queue due, except those in a wait list, and promotes. */
async function due(queue: string): Promise<void> {
  await client.query(
    `update tock.waiting set due_at = now() - interval '1 second' where queue = $1 and due_at < 'infinity'`,
    [queue],
  );
  await sweep(client);
}

describe('a paused concurrency key does not admit a task that', () => {
  const ends: [string, (lease: string) => Promise<unknown>, { concurrency_retry?: string }?][] = [
    ['failed', (lease) => fail(client, lease)],
    ['failed and is to be tried at once', (lease) => fail(client, lease, { retry_in_seconds: 0 })],
    [
      'failed and gives up its turn',
      (lease) => fail(client, lease),
      { concurrency_retry: 'yield' },
    ],
    ['was given back', (lease) => release(client, lease)],
    [
      'was lost',
      async (lease) => {
        await expire(client, lease);
        await reap(client);
      },
    ],
  ];
  test.each(ends)('%s', async (name, end, policy = {}) => {
    const queue = name.replaceAll(' ', '-');
    await putQueue(client, queue, { backoff_base_seconds: 0, ...policy });
    await enqueue(client, queue, tasksWithKey('k', 0, 2));
    const first = await promoteAndClaim(client, queue);
    await put(queue, { paused: true });
    await end(leaseOf(first));
    expect(await promoteAndClaim(client, queue)).toEqual([]);
    await due(queue);
    expect(await promoteAndClaim(client, queue)).toEqual([]);
    expect((await task(client, first[0]?.id as string))?.state).toBe('waiting');
    await put(queue, { paused: false });
    const next = await promoteAndClaim(client, queue);
    expect(payloadsOf(next)).toEqual([policy.concurrency_retry ? 1 : 0]);
    await expectInvariants(client);
  });
});

describe('a retry that is delayed gives up its admission', () => {
  const later = (id: string) =>
    client.query("select tock.reschedule(array[$1::bigint], now() + interval '9 days')", [id]);
  const ways: [string, (lease: string, id: string) => Promise<unknown>][] = [
    [
      'as it waits',
      async (lease, id) => {
        await fail(client, lease);
        await later(id);
      },
    ],
    [
      'before it has failed',
      async (lease, id) => {
        await later(id);
        await fail(client, lease);
      },
    ],
  ];
  test.each(ways)('%s', async (name, end) => {
    const queue = name.replaceAll(' ', '-');
    const [id = ''] = await enqueue(client, queue, tasksWithKey('k', 0, 3));
    const first = await promoteAndClaim(client, queue);
    await end(leaseOf(first), id);
    const next = await promoteAndClaim(client, queue);
    expect(payloadsOf(next)).toEqual([1]);
    // The delayed task is due now. It goes to the end of the wait list, because another task holds the key.
    await due(queue);
    expect(await promoteAndClaim(client, queue)).toEqual([]);
    await fail(client, leaseOf(next), { fatal: true });
    const third = await promoteAndClaim(client, queue);
    expect(payloadsOf(third)).toEqual([2]);
    await fail(client, leaseOf(third), { fatal: true });
    const again = await promoteAndClaim(client, queue);
    expect(payloadsOf(again)).toEqual([0]);
    expect(again[0]?.attempt).toBe(2);
    await expectInvariants(client);
  });

  test('and holds the key again during its backoff when it fails once more', async () => {
    const [id = ''] = await enqueue(client, 'again', tasksWithKey('k', 0, 2));
    await fail(client, leaseOf(await promoteAndClaim(client, 'again')));
    await put('again', { paused: true });
    await later(id);
    await client.query(
      `update tock.run_overrides set changes = changes || '{"run_at": "2026-01-01"}' where changes ? 'run_at'`,
    );
    await due('again');
    await put('again', { paused: false });
    const again = await promoteAndClaim(client, 'again');
    expect(payloadsOf(again)).toEqual([0]);
    await fail(client, leaseOf(again));
    expect(await promoteAndClaim(client, 'again')).toEqual([]);
    expect(await value(client, `select holders from tock.concurrency_keys('again')`)).toEqual([id]);
  });
});
