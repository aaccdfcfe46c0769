import { describe, expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  reap,
  rows,
  task,
  value,
  waitUntilBlocked,
} from '../../verbs.ts';
import { codeOf, completeAll, dropHistory, stateOf, withoutWaiting } from './spawns.ts';

databasePerTest();

test('a parent that was done long ago counts as done after its history is deleted', async () => {
  await client.query(`select tock.put_queue('*', '{"retention_seconds": 60}')`);
  const [a = ''] = await enqueue(client, 'a', [{}]);
  const [b = ''] = await enqueue(client, 'b', [{ delay_seconds: 86_400 }]);
  const [child = ''] = await enqueue(client, 'c', [{ depends_on: [a, b] }]);
  await completeAll('a');
  await dropHistory();
  expect(await stateOf(a)).toBeUndefined();
  expect(await stateOf(child)).toBe('waiting');
  await client.query('select tock.reschedule(array[$1::bigint], now())', [b]);
  await completeAll('b');
  await promote(client);
  expect(await task(client, child)).toMatchObject({ state: 'ready', error: null });
});

describe('a chain of three, completed in a transaction that is open', () => {
  async function chain() {
    const ids = await enqueue(client, 'q', [
      { name: 'a' },
      { name: 'b', depends_on: ['a'] },
      { depends_on: ['b'] },
    ]);
    await makeDue(client, 'q');
    const other = await begin();
    await complete(other, leaseOf(await claim(client, 'q')));
    return { ids, other };
  }
  test('blocks no claim of another queue', async () => {
    await enqueue(client, 'z', [{ payload: 'plain' }]);
    await chain();
    // A claim promotes if it finds no run, and one in sixteen others does too. The second claim finds none.
    await withoutWaiting(async () => {
      for (const _ of ['found', 'empty'])
        await rows(client, "select * from tock.claim('z', p_own_transaction => true)");
    });
  });
  test('blocks no other due task', async () => {
    await chain();
    const [due = ''] = await enqueue(client, 'z', [{ delay_seconds: 1000 }]);
    await makeDue(client, 'z');
    await withoutWaiting(() => client.query('select tock.tick()'));
    const error = "select last_error from tock.maintenance_jobs where name = 'promote'";
    expect(await value(client, error)).toBeNull();
    expect(await stateOf(due)).toBe('ready');
  });
  test('does not deadlock with promotion when it changes the third', async () => {
    const { ids, other } = await chain();
    const pid = await pidOf(client);
    const promoting = codeOf(promote(client));
    await waitUntilBlocked(other, pid, promoting);
    const change = 'select tock.reprioritize(array[$1::bigint], 2)';
    const changing = await codeOf(other.query(change, [ids[2]]));
    await other.query(changing === null ? 'commit' : 'rollback');
    expect([changing, await promoting]).toEqual([null, null]);
  });
});

test('a parent that an open completion admits blocks no claim', async () => {
  await enqueue(client, 'g', [
    { concurrency_key: 'x' },
    { concurrency_key: 'x', name: 'p' },
    { depends_on: ['p'] },
  ]);
  await promote(client);
  await client.query('update tock.waiting set due_at = now() where due_after_parents is not null');
  const runs = await claim(client, 'g');
  const other = await begin();
  await complete(other, leaseOf(runs));
  await withoutWaiting(() => rows(client, "select tock.claim('z', p_own_transaction => true)"));
});

test('results of 256 MiB in all do not stop completion, the reaper, promotion and claims', async () => {
  const parents = 1200;
  const ids = await enqueue(client, 'big', [
    ...numberedTasks(parents),
    { depends_on: ['*'], include_results: true, on_parent_failure: 'run' },
  ]);
  const child = ids.pop() as string;
  const leases: string[] = [];
  for (let left = parents; left > 0; left -= 100)
    leases.push(leaseOf(await claim(client, 'big', { limit: Math.min(100, left) })));
  const last = leases.shift() as string;
  const finish = (lease: string) =>
    client.query(
      `select tock.complete($1, (select jsonb_agg(jsonb_build_object('id', r.id::text, 'result', repeat('x', 262000)))
         from tock.leased_runs($1) r))`,
      [lease],
    );
  for (const lease of leases) await finish(lease);
  expect(await codeOf(finish(last))).toBeNull();
  // A worker whose completion fails loses its lease. The reaper must then get past it to other queues' leases.
  await client.query(`select tock.put_queue('big', '{"max_lost": 1}')`);
  await expire(client, last);
  await enqueue(client, 'other', [{}]);
  const [lost] = await claim(client, 'other');
  await expire(client, lost?.lease as string);
  expect(await codeOf(reap(client))).toBeNull();
  expect(await value(client, "select tock.run_maintenance('reap', 0)")).not.toBeNull();
  expect(await stateOf(lost?.id as string)).toBe('ready');
  // In the other case the completion succeeds while another transaction holds the child.
  const extend = "update tock.leases set leased_until = now() + interval '1 hour' where token = $1";
  await client.query(extend, [last]);
  const busy = await begin();
  await busy.query('select tock.reprioritize(array[$1::bigint], 3)', [child]);
  expect(await codeOf(finish(last))).toBeNull();
  await busy.query('commit');
  const [due = ''] = await enqueue(client, 'plain', [{ delay_seconds: 1000 }]);
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  expect(await codeOf(promote(client))).toBeNull();
  const claimed = client.query("select tock.claim('empty', p_own_transaction => true)");
  expect(await codeOf(claimed)).toBeNull();
  expect([await stateOf(due), await stateOf(child)]).toEqual(['ready', 'ready']);
});
