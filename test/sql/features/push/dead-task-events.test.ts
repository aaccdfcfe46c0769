import type pg from 'pg';
import { expect, test } from 'vitest';
import { begin, overlapping } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  reap,
  refusal,
  rows,
  value,
} from '../../verbs.ts';

databasePerTest();

const url = 'https://example.com/died?token=secret';
const put = (queue: string, policy: object) =>
  value(client, 'select (tock.put_queue($1, $2)).name', [queue, JSON.stringify(policy)]);
const watch = (queue: string, more: object = {}) => put(queue, { dead_webhook: { url }, ...more });

type Errors = { error: string | null; deaths: number }[];
type Told = { queue: string; deaths: number; errors: Errors; ids: string[] };
type Message = { id: string; push_url: string; payload: { type: string; data: Told } };

/** The messages in the webhook queue, after the maintenance job has run. */
async function sentMessages(): Promise<Message[]> {
  await value(client, "select tock.run_maintenance('send_dead_task_events')");
  const error = "select last_error from tock.maintenance_jobs where name = 'send_dead_task_events'";
  expect(await value(client, error)).toBeNull();
  const all = await claim(client, 'tock-webhooks', { limit: 50 });
  if (all.length === 0) return [];
  type Headers = Record<string, { push_url: string }>;
  const headers = 'select tock.lease_headers(p_lease => $1)';
  const urls = await value<Headers>(client, headers, [leaseOf(all)]);
  return all.map((run) => ({ ...run, push_url: urls[run.run_id]?.push_url })) as Message[];
}
const events = () => value(client, 'select count(*)::int from tock.dead_task_events');
const data = async () => (await sentMessages()).map(({ payload }) => payload.data);
/** Lets the next message of each queue be sent. */
const aMinuteLater = () =>
  client.query(
    "update tock.maintenance_jobs set swept_at = swept_at - interval '1 minute' where name = 'send_dead_task_events'",
  );

const die = async (queue: string, message: string) =>
  fail(client, leaseOf(await claim(client, queue)), { error: { message }, fatal: true });

test('a webhook gets every kind of dead task event, and no other event', async () => {
  await watch('a');
  await watch('last', { max_attempts: 1 });
  await watch('lost', { max_lost: 1 });
  await watch('late', { max_attempts: 1, timeout_seconds: 60 });
  const [id] = await enqueue(client, 'a', [{ payload: 1 }]);
  await die('a', 'fatal');
  const others = await enqueue(client, 'a', [{ payload: 1 }, { payload: 2 }]);
  await fail(client, leaseOf(await claim(client, 'a')), { error: { message: 'again' } });
  await client.query('select tock.cancel($1)', [others]);
  await enqueue(client, 'last', [{}]);
  await fail(client, leaseOf(await claim(client, 'last')), { error: { message: 'used up' } });
  for (const queue of ['lost', 'late']) {
    await enqueue(client, queue, [{}]);
    await expire(client, leaseOf(await claim(client, queue)));
  }
  await client.query(
    "update tock.leases l set timeout_at = l.leased_until from tock.streams s where s.number = l.stream and s.queue = 'late'",
  );
  await reap(client);
  const error = (text: string) => [{ error: expect.stringContaining(text), deaths: 1 }];
  const sent = (more: object) => ({
    push_url: url,
    payload: { type: 'tasks.died', data: { deaths: 1, ...more } },
  });
  expect(await sentMessages()).toMatchObject([
    sent({ queue: 'a', errors: error('fatal'), ids: [id] }),
    sent({ queue: 'last', errors: error('used up') }),
    sent({ queue: 'late', errors: error('the time limit ended') }),
    sent({ queue: 'lost', errors: error('lost 1 times') }),
  ]);
  expect(await events()).toBe(0);
});

test('the message of a batch has its size, the errors with counts, and ten tasks', async () => {
  await watch('batch');
  const ids = await enqueue(client, 'batch', numberedTasks(1000));
  const runs = await claim(client, 'batch', { limit: 1000 });
  const failures = runs.map(({ id }, n) => ({
    id,
    ...(n < 999 && { fatal: true }),
    error: { message: n < 900 ? 'often' : `error ${n}` },
  }));
  await fail(client, leaseOf(runs), failures);
  // A repeated call fails no task again, so it adds no event.
  await fail(client, leaseOf(runs), failures);
  expect(await events()).toBe(100);
  const [message, ...others] = await data();
  expect(others).toEqual([]);
  expect(message).toMatchObject({ queue: 'batch', deaths: 999 });
  expect(message?.errors).toHaveLength(10);
  expect(message?.errors[0]).toEqual({ error: 'often', deaths: 900 });
  expect(message?.ids).toHaveLength(10);
  expect(ids).toEqual(expect.arrayContaining(message?.ids ?? []));
});

test('a queue has at most one message a minute, with all tasks that died since the last', async () => {
  await watch('storm');
  await enqueue(client, 'storm', numberedTasks(3));
  await die('storm', 'one');
  expect(await data()).toMatchObject([{ deaths: 1 }]);
  await die('storm', 'two');
  expect(await data()).toEqual([]);
  const wake = await value<Date>(client, 'select tock.next_wake_at()');
  expect((wake.getTime() - Date.now()) / 1000).toBeGreaterThan(50);
  await die('storm', 'three');
  await aMinuteLater();
  expect(await data()).toMatchObject([{ deaths: 2 }]);
  expect(await value(client, 'select tock.next_wake_at()')).toEqual(expect.any(Date));
});

test('tasks that died in a rolled-back transaction send no message, late commits do', async () => {
  await watch('open');
  await enqueue(client, 'open', numberedTasks(3));
  const lease = async () => leaseOf(await claim(client, 'open'));
  const [first, second] = [await lease(), await lease()];
  const late = await begin();
  await fail(late, first, { error: { message: 'late' }, fatal: true });
  await client.query('begin');
  await fail(client, second, { error: { message: 'undone' }, fatal: true });
  await client.query('rollback');
  await die('open', 'soon');
  expect(await data()).toMatchObject([{ deaths: 1, errors: [{ error: 'soon' }] }]);
  await late.query('commit');
  await aMinuteLater();
  expect(await data()).toMatchObject([{ deaths: 1, errors: [{ error: 'late' }] }]);
  // The maintenance job has moved its start up to the newest event.
  await value(client, "select tock.run_maintenance('send_dead_task_events')");
  expect(await value(client, 'select tock.dead_task_events_from()')).toBe(
    await value(client, 'select last_value from tock.dead_task_event_numbers'),
  );
});

test("the default policy's webhook counts for its queues, and a removed webhook gets no message", async () => {
  await watch('*');
  await enqueue(client, 'fresh', [{}]);
  await enqueue(client, 'none', [{}]);
  await die('fresh', 'x');
  await die('none', 'x');
  await put('none', { dead_webhook: null });
  expect((await data()).map(({ queue }) => queue)).toEqual(['fresh']);
  expect(await events()).toBe(0);
});

test('a webhook task that dies causes no other webhook task', async () => {
  await watch('*');
  await enqueue(client, 'loop', [{}]);
  await die('loop', 'x');
  expect(await sentMessages()).toHaveLength(1);
  await client.query('select tock.release(token) from tock.leases where closed_at is null');
  // Without the queue's row, the next run would follow the default policy, which has a webhook.
  await client.query("delete from tock.queues where name = 'tock-webhooks'");
  await die('tock-webhooks', '410 from https://example.com/died');
  await aMinuteLater();
  expect(await sentMessages()).toEqual([]);
});

test('no dead task events are stored when no queue has a webhook', async () => {
  await enqueue(client, 'quiet', [{}]);
  await die('quiet', 'x');
  expect(await events()).toBe(0);
  expect(await rows(client, "select from tock.queues where name = 'tock-webhooks'")).toEqual([]);
});

test('an invalid webhook is refused', async () => {
  const wrong = [
    ['q', true, 'dead_webhook'],
    ['q', {}, 'dead_webhook.url'],
    ['q', { url: null }, 'dead_webhook.url'],
    ['q', { url: 'ftp://example.com' }, 'dead_webhook.url'],
    ['q', { url, to: 1 }, 'dead_webhook.to'],
    ['tock-webhooks', { url }, 'dead_webhook'],
  ] as const;
  for (const [queue, dead_webhook, field] of wrong) {
    const { code, detail } = await refusal(put(queue, { dead_webhook }));
    expect([code, detail]).toEqual(['TK422', field]);
  }
});

test('a task of another queue is never signed as a message of Tock', async () => {
  await watch('signed');
  const wrong = [
    ['tock-webhooks', { push_url: url }, 'queue'],
    ['tock-webhooks', {}, 'queue'],
    ['a', { pipeline: ['a', 'tock-webhooks'] }, 'pipeline'],
  ] as const;
  for (const [queue, task, field] of wrong) {
    const { code, detail } = await refusal(enqueue(client, queue, [task]));
    expect([code, detail]).toEqual(['TK422', field]);
  }
  const moved = await refusal(client.query("select tock.move(array[1], 'tock-webhooks')"));
  const again = await refusal(
    client.query("select tock.redrive('a', p_to_queue => 'tock-webhooks')"),
  );
  expect([moved.detail, again.detail]).toEqual(['queue', 'to_queue']);
});

test('the audit log entry shows no query of the URL', async () => {
  await watch('acted');
  const shown = await rows(client, "select detail from tock.audit_log(p_object => 'acted')");
  expect(shown).toMatchObject([
    { detail: { dead_webhook: { url: 'https://example.com/died?…' } } },
  ]);
});

test('a run that two concurrent calls fail counts once', async () => {
  await watch('twice');
  const [id] = await enqueue(client, 'twice', [{}, {}]);
  const lease = leaseOf(await claim(client, 'twice', { limit: 2 }));
  const end = [{ id, error: { message: 'x' }, fatal: true }];
  const call = (on: pg.Client) => fail(on, lease, end);
  const [, second] = await overlapping(call, call);
  expect(second).toMatchObject({ failed: 1, dead: 1 });
  expect(await value(client, 'select sum(deaths)::int from tock.dead_task_events')).toBe(1);
});

test('event numbers that a restore set back are not assigned again', async () => {
  await watch('restored');
  await enqueue(client, 'restored', numberedTasks(3));
  await die('restored', 'told');
  await data();
  await die('restored', 'before');
  await client.query(
    "select setval('tock.dead_task_event_numbers', 1), setval('tock.system_identity', 1)",
  );
  await value(client, "select tock.run_maintenance('guard')");
  await die('restored', 'after');
  await aMinuteLater();
  const errors = ['after', 'before'].map((error) => ({ error, deaths: 1 }));
  expect(await data()).toMatchObject([{ deaths: 2, errors }]);
});
