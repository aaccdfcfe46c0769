import { expect, test } from 'vitest';
import { client } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  promote,
  reap,
} from '../../verbs.ts';
import { expectFindings } from '../findings.ts';
import { expectWhy, old, overdue, queuesPerTest, why } from './why.ts';

queuesPerTest();

/** Moves all claims to this long ago. */
const claimed = (interval: string) =>
  client.query('update tock.leases set claimed_at = now() - $1::interval', [interval]);
const put = (policy: object) => client.query("select tock.put_queue('q', $1)", [policy]);
const completeAll = async (queue: string, limit: number) =>
  complete(client, leaseOf(await claim(client, queue, { limit })));

test('a queue that is empty, being worked on or only has waiting tasks has no reason, and an unknown queue is named as such', async () => {
  const unknown = /^warning: there is no queue of this name: .*never made.* => .*tock queue list$/;
  expectFindings(await why('unknown'), unknown);
  await expectWhy();
  const ids = await enqueue(client, 'q', numberedTasks(20));
  await expectWhy();
  const runs = await claim(client, 'q', { limit: 5 });
  await expectWhy();
  await fail(client, leaseOf(runs), [{ id: ids[0], error: 'once', retry_in_seconds: 900 }]);
  await complete(client, leaseOf(runs));
  await expectWhy();
  await completeAll('q', 100);
  await enqueue(client, 'q', numberedTasks(3, 0, { delay_seconds: 3600 }));
  await enqueue(client, 'q', [{ concurrency_key: 'g' }, { depends_on: [ids[0]] }]);
  await expectWhy();
  expectFindings(await why('other'));
});

test('a queue without claims is named until a worker claims from it', async () => {
  await enqueue(client, 'q', numberedTasks(3));
  await old('3 minutes');
  await expectWhy(
    /^warning: no worker claims from this queue: 3 tasks are ready, the oldest for 3 min, .* => start a worker/,
  );
  expectFindings(await why('other'));
  await completeAll('q', 1);
  await expectWhy(/^note: workers do not keep up: /);
  const ago = "now() - interval '2 minutes'";
  await client.query(`update tock.leases set claimed_at = ${ago}, closed_at = ${ago}`);
  await expectWhy(/^\w+: no worker claims from this queue: .*was claimed for (1\d\d s|\d min) =>/);
  await completeAll('q', 9);
  await expectWhy();
});

test('too few workers are another reason than no worker', async () => {
  await enqueue(client, 'q', numberedTasks(30));
  await claim(client, 'q', { limit: 2 });
  await old('10 minutes');
  await expectWhy(
    /^note: workers do not keep up: 28 tasks are ready, the oldest for 10 min; 2 run => start more workers/,
  );
});

test('a paused queue is named as soon as a task is ready, without other reasons', async () => {
  await put({ paused: true });
  await expectWhy();
  await enqueue(client, 'q', numberedTasks(2));
  await old('3 minutes');
  await expectWhy(
    /^warning: the queue is paused: 2 tasks are ready.*claims return none => .*tock queue resume q/,
  );
  await put({ paused: false });
  await claim(client, 'q', { limit: 2 });
  await expectWhy();
});

test('reached limits are named: max_running and the rate', async () => {
  await put({ max_running: 2 });
  await enqueue(client, 'q', numberedTasks(9));
  const runs = await claim(client, 'q', { limit: 9 });
  expect(runs).toHaveLength(2);
  await expectWhy(
    /^note: max_running holds tasks back: 2 run of 2 \(max_running\); ready: 7 => .*raise max_running/,
  );
  await complete(client, leaseOf(runs));
  await put({ max_running: null, rate_limit: 3, rate_seconds: 3600, rate_burst: 3 });
  while ((await claim(client, 'q')).length > 0);
  await old('3 minutes');
  await expectWhy(
    /^note: the rate holds tasks back: 3 may start in 3600 s, the next in 1[12]\d\d s; ready: 4 => .*raise rate_limit/,
  );
  await put({ rate_limit: 2, rate_seconds: 60, rate_burst: 4 });
  await client.query("select tock.reset_limits('q')");
  await enqueue(client, 'q', numberedTasks(9));
  while ((await claim(client, 'q')).length > 0);
  await old('3 minutes');
  await expectWhy(/: 2 may start in 60 s, and 4 at once, the next in \d+ s;/);
});

test('max_running is named while it or one less run, if it lets a ready task wait', async () => {
  await put({ max_running: 8 });
  await enqueue(client, 'q', numberedTasks(9));
  await claim(client, 'q', { limit: 6 });
  await old('3 minutes');
  await expectWhy(/^note: workers do not keep up: (?!.*max_running)/);
  await claim(client, 'q');
  await expectWhy(/^note: max_running holds tasks back: 7 run of 8 \(max_running\); ready: 2 =>/);
  await put({ max_running: 9 });
  await expectWhy(/^note: workers do not keep up: /);
});

test('all concurrency keys that hold tasks back are one note, and the hint cancels no task that was claimed just now', async () => {
  const stuck = numberedTasks(10).map((_, n) => ({ concurrency_key: `g${n}` }));
  for (const tasks of [stuck, [...stuck, ...stuck]]) await enqueue(client, 'q', tasks);
  await promote(client);
  const runs = await claim(client, 'q', { limit: 10, worker: 'w' });
  await expectWhy();
  await claimed('30 seconds');
  await expectWhy(
    /: 20 tasks wait at 10 .* \(10 full\); .* g\d admits 1 at a time, and task \d+ holds it: .* => (?!.*cancel).*tock task \d+/,
  );
  await claimed('4 minutes');
  await expectWhy(
    /^note: concurrency keys hold tasks back: .*running for 4 min.* => .*over 60 s, cancel it .*: tock cancel \d+$/,
  );
  await claimed('2 hours');
  await expectWhy(/^warning: /);
  await complete(client, leaseOf(runs));
  await completeAll('q', 10);
  await completeAll('q', 10);
  const pause = (paused: boolean) =>
    client.query('select tock.put_concurrency_key($1, $2, $3)', ['q', "it's", { paused }]);
  await pause(true);
  await enqueue(client, 'q', numberedTasks(2, 0, { concurrency_key: "it's" }));
  await promote(client);
  await expectWhy(
    /^warning: .*: 2 tasks wait at 1 concurrency key \(1 paused\); .* it's is paused .* => .*q 'it'\\''s' --resume/,
  );
  await pause(false);
  await expectWhy();
});

test('of very many concurrency keys the first twenty are counted', async () => {
  const tasks = numberedTasks(44).map((task, n) => ({ ...task, concurrency_key: `g${n % 22}` }));
  await enqueue(client, 'q', tasks);
  await promote(client);
  await claim(client, 'q', { limit: 30 });
  await claimed('30 seconds');
  await expectWhy(/: 20 tasks wait at the first 20 concurrency keys \(20 full\)/);
});

test('a queue with push has a hint about the pusher, and workers that may still be waiting are a note', async () => {
  await enqueue(client, 'q', numberedTasks(2));
  await old('30 seconds');
  await expectWhy(
    /^note: workers may be waiting: 2 tasks are ready, the oldest for 3\d s => .*retry_after_seconds/,
  );
  await put({ push: { url: 'https://example.com/hook' } });
  await old('5 minutes');
  await expectWhy(
    /^warning: tasks are not pushed: 2 tasks .* and none has been sent yet => .*TOCK_PUSH_SECRET.*POST \/v1\/tick/,
  );
});

test('unfinished parents are counted by state, not named', async () => {
  const parents = await enqueue(client, 'other', numberedTasks(1372));
  const runs = await claim(client, 'other', { limit: 1000 });
  const dead = runs.slice(0, 3).map(({ id }) => ({ id, fatal: true }));
  await fail(client, leaseOf(runs), dead);
  await complete(client, leaseOf(runs));
  const after = { depends_on: parents, on_parent_failure: 'run' };
  const [child] = await enqueue(client, 'q', [after, { depends_on: parents.slice(-1) }]);
  await expectWhy();
  await client.query("update tock.waiting set created_at = now() - interval '3 minutes'");
  await expectWhy(
    `^note: .*: 2 tasks wait; task ${child} .* 3 min .*: 997 of 1,372 done, 3 dead, 372 ready => .*tock parents ${child}`,
  );
  await completeAll('other', 1000);
  expect((await why()).map(({ finding }) => finding)).not.toContain('tasks wait for their parents');
});

test('a task that fails repeatedly is named with its error, and so is one that loses its workers', async () => {
  const [poison] = await enqueue(client, 'q', [{ payload: 'p', max_attempts: 99 }]);
  for (let n = 1; n <= 3; n++) {
    const runs = await claim(client, 'q');
    await fail(client, leaseOf(runs), { error: { message: `broken ${n}` }, retry_in_seconds: 900 });
    if (n < 2) await expectWhy();
    else expect((await why())[0]?.hint).not.toMatch(/cancel/);
    if (n < 3) await overdue('1 s');
    await promote(client);
  }
  await claimed('2 minutes');
  await expectWhy(
    `^warning: a task fails again and again: task ${poison} has failed 3 times, .*: broken 3 => .*tock cancel ${poison}`,
  );
  await client.query('select tock.cancel(array[$1::bigint])', [poison]);
  await expectWhy();
  const [killer] = await enqueue(client, 'q', [{}]);
  for (let n = 0; n < 3; n++) {
    await expire(client, leaseOf(await claim(client, 'q')));
    await reap(client);
  }
  await old('1 hour');
  expect((await why()).at(-1)?.hint).not.toMatch(/cancel/);
  await claimed('2 minutes');
  expectFindings(
    (await why()).slice(-1),
    `^warning: a task kills its workers: 3 runs of task ${killer} were lost.* => .*over 60 s.*tock cancel ${killer}`,
  );
});

test('a task that fails repeatedly is named also while it is ready, at any age', async () => {
  const [poison] = await enqueue(client, 'q', [{ max_attempts: 99 }]);
  await old('1 hour');
  for (let n = 1; n <= 4; n++)
    await fail(client, leaseOf(await claim(client, 'q')), { error: 'no', retry_in_seconds: 0 });
  await expectWhy(
    `^warning: a task fails again and again: task ${poison} has failed 4 times, .*: no => fix the reported error$`,
  );
});

test('dead tasks are named by their error, with the command to redrive them', async () => {
  await enqueue(client, 'q', numberedTasks(3));
  const runs = await claim(client, 'q', { limit: 3 });
  await fail(client, leaseOf(runs), { error: { message: "can't find host" }, fatal: true });
  await expectWhy(
    /^warning: tasks die: 3 tasks have died, .*: can't find host => .*tock redrive q --error 'can'\\''t find host'$/,
  );
  expectFindings(await why('other'));
});
