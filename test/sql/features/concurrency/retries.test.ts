import { describe, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile } from '../../test_database.ts';
import { enqueue, expire, fail, leaseOf, reap, release, task, value } from '../../verbs.ts';
import {
  due,
  payloadsOf,
  promoteAndClaim,
  putKey,
  putQueue,
  tasksWithKey,
} from './concurrency_keys.ts';

databasePerFile();

describe('a paused concurrency key does not admit a task that', () => {
  const ends: [string, (lease: string) => Promise<unknown>, { concurrency_retry?: string }?][] = [
    ['failed', (lease) => fail(client, lease)],
    ['failed and yields', (lease) => fail(client, lease), { concurrency_retry: 'yield' }],
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
    await putKey(client, queue, { paused: true });
    await end(leaseOf(first));
    expect(await promoteAndClaim(client, queue)).toEqual([]);
    await due(client, queue);
    expect(await promoteAndClaim(client, queue)).toEqual([]);
    expect((await task(client, first[0]?.id as string))?.state).toBe('waiting');
    await putKey(client, queue, { paused: false });
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
    await due(client, queue);
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
    await putKey(client, 'again', { paused: true });
    await later(id);
    await client.query(
      `update tock.run_overrides set changes = changes || '{"run_at": "2026-01-01"}' where changes ? 'run_at'`,
    );
    await due(client, 'again');
    await putKey(client, 'again', { paused: false });
    const again = await promoteAndClaim(client, 'again');
    expect(payloadsOf(again)).toEqual([0]);
    await fail(client, leaseOf(again));
    expect(await promoteAndClaim(client, 'again')).toEqual([]);
    expect(await value(client, `select holders from tock.concurrency_keys('again')`)).toEqual([id]);
  });
});
