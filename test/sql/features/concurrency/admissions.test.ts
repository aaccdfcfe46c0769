import { describe, expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expireTask,
  leaseOf,
  promote as sweep,
  value,
  waitUntil,
} from '../../verbs.ts';
import { payloadsOf, promoteAndClaim, promoteDue, tasksWithKey } from './concurrency_keys.ts';

databasePerFile();

describe('no admission is lost', () => {
  test("when a task is enqueued while the holder's completion is open", async () => {
    await enqueue(client, 'late-end', tasksWithKey('k', 0));
    const first = await promoteAndClaim(client, 'late-end');
    const other = await begin();
    await complete(other, leaseOf(first));
    await enqueue(client, 'late-end', tasksWithKey('k', 1));
    expect(await promoteAndClaim(client, 'late-end')).toEqual([]);
    await other.query('commit');
    await sweep(client);
    expect(payloadsOf(await promoteAndClaim(client, 'late-end'))).toEqual([1]);
  });

  test.each(['late-come', 'beside'])(
    'when the holder ends while the enqueue is open: %s',
    async (queue) => {
      await enqueue(client, queue, tasksWithKey('k', 0));
      const first = await promoteAndClaim(client, queue);
      await enqueue(client, queue, tasksWithKey('k', 1));
      const other = await begin();
      expect(await promoteDue(other)).toBe(1);
      await complete(client, leaseOf(first));
      // Other work that is due must not hide the admission.
      if (queue === 'beside') await enqueue(client, queue, [{ delay_seconds: 0.01 }]);
      await other.query('commit');
      const due = `select count(*) = $2::int from tock.waiting where queue = $1 and due_at < clock_timestamp()`;
      const count = queue === 'beside' ? 1 : 0;
      await waitUntil('the delayed task is due', () => value<boolean>(client, due, [queue, count]));
      await sweep(client);
      const take = queue === 'beside' ? claim : promoteAndClaim;
      const runs = [...(await take(client, queue)), ...(await take(client, queue))];
      expect(runs).toHaveLength(1 + count);
      expect(payloadsOf(runs)).toContain(1);
    },
  );

  test('when an enqueue commits after later tasks were promoted', async () => {
    const other = await begin();
    await enqueue(other, 'late', tasksWithKey('late', 'late'));
    const swept = (at: string) =>
      client.query(
        `update tock.maintenance_jobs set last_started_at = ${at} where name = 'promote'`,
      );
    await swept("now() + interval '1 hour'");
    await enqueue(client, 'late', [...tasksWithKey('a', 1), ...tasksWithKey('b', 2)]);
    expect(payloadsOf(await promoteAndClaim(client, 'late')).sort()).toEqual([1, 2]);
    await other.query('commit');
    const { rows: claimed } = await client.query(
      `select c.payload from tock.claim('late', p_own_transaction => true) as c`,
    );
    expect(payloadsOf(claimed)).toEqual(['late']);
    await swept('null');
  });

  test('when a late commit lies before admitted tasks', async () => {
    const [holder, late] = [await db.connect(), await db.connect()];
    await enqueue(client, 'below', tasksWithKey('k', 0));
    const first = await promoteAndClaim(client, 'below');
    await holder.query("begin; select from tock.concurrency_keys where queue = 'below' for update");
    await late.query('begin');
    await enqueue(late, 'below', tasksWithKey('k', -1));
    await promoteDue(late);
    await holder.query('commit');
    await enqueue(client, 'below', tasksWithKey('k', 1, 5));
    await promoteDue(client);
    await complete(client, leaseOf(first));
    const second = await promoteAndClaim(client, 'below');
    expect(payloadsOf(second)).toEqual([1]);
    await late.query('commit');
    await client.query("update tock.concurrency_admissions set scanned = scanned - interval '6 s'");
    await complete(client, leaseOf(second));
    expect(payloadsOf(await promoteAndClaim(client, 'below'))).toEqual([-1]);
  });
});

describe('a task whose claim is not committed is still a holder, though the task', () => {
  const ways: [string, (id: string) => Promise<unknown>, object?][] = [
    [
      'was cancelled meanwhile',
      (id) => client.query('select tock.cancel(array[$1::bigint])', [id]),
    ],
    ['has expired meanwhile', (id) => expireTask(client, id), { expires_in_seconds: 1000 }],
  ];
  test.each(ways)('%s', async (name, change, options = {}) => {
    const queue = name.replaceAll(' ', '-');
    const [id] = await enqueue(client, queue, [
      ...tasksWithKey('k', 0, 1, options),
      ...tasksWithKey('k', 1),
    ]);
    await promoteDue(client);
    const other = await begin();
    const claimed = await claim(other, queue);
    expect(payloadsOf(claimed)).toEqual([0]);
    await change(id as string);
    await client.query('select from tock.claim($1, p_own_transaction => true)', [queue]);
    await sweep(client);
    await sweep(client);
    await other.query('commit');
    expect(await promoteAndClaim(client, queue)).toEqual([]);
    expect(await sweep(client)).toBe(0);
    await complete(client, leaseOf(claimed));
    expect(payloadsOf(await promoteAndClaim(client, queue))).toEqual([1]);
  });
});

test('settings in an open transaction block no promotion', async () => {
  const other = await db.connect();
  await other.query("begin; select tock.put_concurrency_key('open', 'new', '{}')");
  await enqueue(client, 'open', tasksWithKey('new'));
  await client.query(`set lock_timeout = ${conditionTimeout}`);
  expect(await promoteDue(client)).toBe(1);
  await other.query('commit');
  await sweep(client);
  expect(payloadsOf(await promoteAndClaim(client, 'open'))).toEqual([0]);
});
