import { expect, test } from 'vitest';
import { expectWhole } from './audit.ts';
import { age, audit, epochs, pass, retain, settle } from './history.ts';
import { client, databaseEach } from './own.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numbered,
  reap,
  refusal,
  release,
  rows,
  value,
} from './support.ts';

databaseEach();

type Hour = {
  hour: Date;
  done: string;
  failed: string;
  lost: string;
  total_seconds: number;
  mean_seconds: number | null;
  partial: boolean;
};

const hours = (queue: string, from = "now() - interval '1 year'", to = 'null', limit = 250_000) =>
  rows<Hour>(
    client,
    `select * from tock.hourly_stats(p_queue => $1, p_from => ${from}, p_to => ${to}, p_limit => $2)`,
    [queue, limit],
  );

/** As [hours ago, done, seconds in all, failed, lost]. */
async function figures(queue: string) {
  const now = await value<Date>(client, "select date_trunc('hour', now(), 'UTC')");
  return (await hours(queue)).map((one) => {
    expect(one.partial).toBe(false);
    expect(one.mean_seconds).toBe(one.done === '0' ? null : one.total_seconds / Number(one.done));
    const ago = (now.getTime() - one.hour.getTime()) / 3_600_000;
    return [ago, +one.done, Math.round(one.total_seconds), +one.failed, +one.lost];
  });
}

/** A lease was closed so many hours ago, after so many seconds; results of its own with it. */
async function closed(lease: string, hoursAgo: number, seconds: number): Promise<void> {
  const at = "date_trunc('hour', now(), 'UTC') + interval '20 minutes' - $2 * interval '1 hour'";
  await client.query(
    `with l as (
       update tock.leases set closed_at = case when closed_at is not null then ${at} end,
         claimed_at = ${at} - $3 * interval '1 second'
       where token = $1 returning stream, after_position, last_position)
     update tock.results e set ended_at = ${at} from l
     where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position`,
    [lease, hoursAgo, seconds],
  );
}

/** Runs of one lease. */
async function take(queue: string, count: number) {
  await enqueue(client, queue, numbered(count));
  const runs = await claim(client, queue, { limit: count });
  expect(runs).toHaveLength(count);
  return { lease: leaseOf(runs), ids: runs.map(({ id }) => id) };
}

/** A day with something of everything, 1 to 3 hours ago. */
async function day(queue: string) {
  const whole = await take(queue, 5);
  await complete(client, whole.lease);
  await closed(whole.lease, 3, 10);
  const mixed = await take(queue, 6);
  const [a, b, c, d] = mixed.ids.map((id) => ({ id }));
  await complete(client, mixed.lease, [{ ...a, result: 'own' }]);
  await fail(client, mixed.lease, [{ ...b, fatal: true }]);
  await release(client, mixed.lease, [c?.id as string]);
  await fail(client, mixed.lease, [{ ...d, retry_in_seconds: 100_000 }]);
  await complete(client, mixed.lease);
  await closed(mixed.lease, 2, 30);
  const lost = await take(queue, 3);
  await complete(client, lost.lease, [{ id: lost.ids[1] }]);
  await expire(client, lost.lease);
  expect(await reap(client)).toBe(2);
  // Begun in the hour before.
  await closed(lost.lease, 1, 5000);
}

const ofDay = [
  [3, 5, 50, 0, 0],
  [2, 3, 90, 2, 0],
  [1, 1, 5000, 0, 2],
];

test('each run counts in the hour of its end, with the time since its claim', async () => {
  await day('q');
  expect(await figures('q')).toEqual(ofDay);
  await take('other', 2);
  expect(await figures('other')).toEqual([]);
  expect(await figures('nobody')).toEqual([]);
  await expectWhole(client);
});

test('the figures are the same before an epoch is audited, meanwhile, after and when it is gone', async () => {
  await day('q');
  await day('other');
  await client.query("select tock.put_queue('strange', '{}')");
  await client.query(
    "update tock.waiting set due_at = now() - interval '1 s' where due_at > now()",
  );
  await client.query('select tock.promote(p_limit => 10000, p_sweep => true)');
  for (const queue of ['q', 'other']) {
    for (let found = true; found; ) {
      const runs = await claim(client, queue, { limit: 100 });
      found = runs.length > 0;
      if (found) {
        await complete(client, leaseOf(runs));
        await closed(leaseOf(runs), 5, 1);
      }
    }
  }
  const expected = await figures('q');
  expect(expected.slice(1)).toEqual(ofDay);
  expect(expected[0]?.slice(0, 2)).toEqual([5, 4]);
  await pass(client);
  await settle(client);
  // A run at a time: some streams are added up, others not yet, one is under way or just done.
  for (let calls = 1; ; calls++) {
    const looked = await value<number>(client, 'select tock.audit(1)');
    expect(await figures('q')).toEqual(expected);
    expect(await figures('other')).toEqual(expected);
    if (looked === 0) {
      expect(calls).toBeGreaterThan(5);
      break;
    }
  }
  await age(client, '8 days');
  await retain(client);
  expect(await epochs(client)).not.toContain(1);
  expect(await figures('q')).toEqual(expected);
  // What comes later is added to it, in an hour that was there already too.
  const more = await take('q', 2);
  await complete(client, more.lease);
  await closed(more.lease, 3, 7);
  const added = expected.map((one) => (one[0] === 3 ? [3, 7, 64, 0, 0] : one));
  expect(await figures('q')).toEqual(added);
  await pass(client);
  await settle(client);
  await audit(client);
  expect(await figures('q')).toEqual(added);
});

test('an audit that is undone adds nothing', async () => {
  await day('q');
  await pass(client);
  await client.query("update tock.leases set leased_until = '-infinity' where closed_at is null");
  await reap(client);
  const before = await figures('q');
  await settle(client);
  await client.query('begin');
  await audit(client);
  await client.query('rollback');
  expect(await figures('q')).toEqual(before);
  await audit(client);
  expect(await figures('q')).toEqual(before);
});

test('what was passed over has not ended, and what was cancelled is not counted', async () => {
  const ids = await enqueue(client, 'q', numbered(6));
  await client.query('select tock.cancel($1)', [ids.slice(2, 4)]);
  const runs = await claim(client, 'q', { limit: 6 });
  expect(runs).toHaveLength(4);
  await client.query('select tock.cancel($1)', [ids.slice(5)]);
  await fail(client, leaseOf(runs), [{ id: ids[5], retry_in_seconds: 0 }]);
  await complete(client, leaseOf(runs));
  await closed(leaseOf(runs), 1, 2);
  expect(await figures('q')).toEqual([[1, 3, 6, 0, 0]]);
});

test('only the hours asked for are given, from the one that from lies in to before to', async () => {
  await day('q');
  const at = (ago: number) => `date_trunc('hour', now(), 'UTC') - interval '${ago} hours'`;
  const done = async (from: string, to: string) =>
    (await hours('q', from, to)).map((one) => one.done);
  expect(await done(at(3), at(1))).toEqual(['5', '3']);
  expect(await done(`${at(3)} + interval '59 minutes'`, at(2))).toEqual(['5']);
  expect(await done('null', 'null')).toEqual(['5', '3', '1']);
  expect(await done(at(2), "'infinity'")).toEqual(['3', '1']);
  expect(await refusal(hours('q', at(1), at(1)))).toMatchObject({ code: 'TK422', detail: 'to' });
  expect(await refusal(hours('no name'))).toMatchObject({ code: 'TK422', detail: 'queue' });
});

test('a call reads a bounded number of rows, and says when there were more', async () => {
  for (let n = 0; n < 12; n++) {
    const { lease } = await take('q', 1);
    await complete(client, lease);
    await closed(lease, 1, 1);
  }
  expect(await hours('q', undefined, undefined, 12)).toMatchObject([
    { done: '12', partial: false },
  ]);
  const [some] = await hours('q', undefined, undefined, 5);
  expect(some?.partial).toBe(true);
  expect(Number(some?.done)).toBe(6);
  await pass(client);
  await settle(client);
  await audit(client);
  expect(await hours('q', undefined, undefined, 1)).toMatchObject([{ done: '12', partial: false }]);
});

test('hours are kept for 400 days', async () => {
  await client.query(
    `insert into tock.hours (queue, hour, done, failed, lost, done_seconds)
     select 'q', date_trunc('hour', now() - n * interval '1 day'), n, 0, 0, 1 from unnest('{1, 399, 401}'::int[]) n`,
  );
  await client.query('select tock.tidy()');
  expect((await hours('q', "now() - interval '3 years'")).map((one) => one.done)).toEqual([
    '399',
    '1',
  ]);
});
