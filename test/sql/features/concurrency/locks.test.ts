import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  pidOf,
  type Run,
  release,
  rows,
  value,
  waitUntilBlocked,
} from '../../verbs.ts';
import {
  payloadsOf,
  promoteAndClaim,
  promoteDue,
  putKey,
  tasksWithKey,
} from './concurrency_keys.ts';

// A lock on a concurrency key's row keeps all others from admitting there. So a call locks only keys at which it
// admits.
databasePerFile();
let other: pg.Client;

beforeAll(async () => {
  other = await db.connect();
});

/** The concurrency keys of a queue whose rows are not locked. */
async function free(queue: string): Promise<string[]> {
  const keys = `select concurrency_key as key from tock.concurrency_keys where queue = $1
    order by concurrency_key for update skip locked`;
  return (await rows<{ key: string }>(other, keys, [queue])).map(({ key }) => key);
}

describe('a partial end of a lease admits only behind the ended runs, when it is', () => {
  const ends: [string, (lease: string, id: string) => Promise<unknown>][] = [
    ['completed', (lease, id) => complete(client, lease, [{ id, result: 1 }])],
    ['failed', (lease, id) => fail(client, lease, [{ id, fatal: true }])],
    ['released', (lease, id) => release(client, lease, [id])],
  ];
  test.each(ends)('%s', async (queue, end) => {
    await enqueue(
      client,
      queue,
      ['a', 'b', 'c'].flatMap((key, n) => tasksWithKey(key, n + 1)),
    );
    const runs = await promoteAndClaim(client, queue);
    expect(payloadsOf(runs)).toEqual([1, 2, 3]);
    await enqueue(client, queue, tasksWithKey('b', 4));
    await promoteDue(client);
    await client.query('begin');
    await end(leaseOf(runs), (runs[1] as Run).id);
    expect(await free(queue)).toEqual(['a', 'c']);
    await client.query('commit');
    const next = queue === 'released' ? 2 : 4;
    expect(payloadsOf(await promoteAndClaim(client, queue))).toEqual([next]);
  });
});

describe('concurrency keys that are unused for long', () => {
  /** Two concurrency keys that were last used two days ago. */
  const unused = async (queue: string) => {
    await enqueue(client, queue, [...tasksWithKey('a', 1), ...tasksWithKey('b', 2)]);
    await complete(client, leaseOf(await promoteAndClaim(client, queue)));
    for (const [table, column] of [
      ['concurrency_keys', 'created_at'],
      ['concurrency_admissions', 'admitted_at'],
    ]) {
      await client.query(
        `update tock.${table} set ${column} = ${column} - interval '2 days' where queue = $1`,
        [queue],
      );
    }
  };

  test('are pruned, and none that stays is locked', async () => {
    await unused('unused');
    await enqueue(client, 'unused', tasksWithKey('b', 3));
    expect(payloadsOf(await promoteAndClaim(client, 'unused'))).toEqual([3]);
    await client.query('begin');
    expect(await value(client, 'select tock.prune_concurrency_keys(100)')).toBe(1);
    expect(await free('unused')).toEqual(['b']);
    await client.query('commit');
    expect(await free('unused')).toEqual(['b']);
  });

  test('stay when a task is enqueued while others are pruned', async () => {
    await unused('come-back');
    await other.query(
      "begin; select from tock.concurrency_admissions where queue = 'come-back' and concurrency_key = 'a' for update",
    );
    const tidying = await db.connect();
    const pid = await pidOf(tidying);
    const tidied = value(tidying, 'select tock.prune_concurrency_keys(100)');
    await waitUntilBlocked(client, pid);
    await enqueue(client, 'come-back', tasksWithKey('b', 3, 2));
    expect(payloadsOf(await promoteAndClaim(client, 'come-back'))).toEqual([3]);
    await other.query('commit');
    expect(await tidied).toBe(1);
    expect(await free('come-back')).toEqual(['b']);
    expect(await promoteAndClaim(client, 'come-back')).toEqual([]);
  });
});

test('lost runs are reaped while another session has locked the rows of their keys', async () => {
  const leases: string[] = [];
  await enqueue(client, 'lost', tasksWithKey('k', 0, 4));
  await putKey(client, 'lost', { concurrency_limit: 4 });
  await promoteDue(client);
  for (let n = 0; n < 4; n++) {
    leases.push(leaseOf(await claim(client, 'lost')));
    await expire(client, leases[n] as string);
  }
  await other.query("begin; select from tock.concurrency_keys where queue = 'lost' for update");
  const [watcher, pid] = [await db.connect(), await pidOf(client)];
  let [over, waited] = [false, false];
  const all = (async () => {
    for (const _ of leases) expect(await value(client, 'select tock.reap(1, true)')).toBe(1);
  })().finally(() => {
    over = true;
  });
  while (!over && !waited) {
    waited = await value(watcher, 'select cardinality(pg_blocking_pids($1)) > 0', [pid]);
  }
  await all;
  expect(waited).toBe(false);
  expect(payloadsOf(await promoteAndClaim(client, 'lost')).sort()).toEqual([0, 1, 2, 3]);
  await other.query('commit');
});

test('a call that creates many concurrency keys takes few locks', async () => {
  const tasks = Array.from({ length: 400 }, (_, n) => ({ concurrency_key: `key ${n}` }));
  await enqueue(client, 'many', tasks);
  await client.query('begin');
  await promoteDue(client);
  const locks = await value<number>(
    client,
    `select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
  );
  await client.query('commit');
  expect(await claim(client, 'many', { limit: 1000 })).toHaveLength(400);
  expect(locks).toBeLessThan(100);
});

test('an enqueue in an open transaction neither admits nor blocks; the next claim in its own transaction admits', async () => {
  const open = await begin();
  await enqueue(open, 'open', tasksWithKey('g', 'open'));
  await enqueue(client, 'open', tasksWithKey('g', 'committed'));
  const alone = () =>
    rows<Run>(client, "select * from tock.claim('open', p_limit => 10, p_own_transaction => true)");
  const first = await alone();
  expect(payloadsOf(first)).toEqual(['committed']);
  expect(await free('open')).toEqual(['g']);
  await complete(client, leaseOf(first));
  await open.query('commit');
  expect(payloadsOf(await alone())).toEqual(['open']);
});
