import type pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  fail,
  leaseOf,
  numberedTasks,
  pidOf,
  release,
  value,
  waitUntil,
  waitUntilBlocked,
} from '../../verbs.ts';
import { begin, blocked } from '../sessions.ts';

// Separate functions enqueue one task without options, claim one run and complete a whole lease of one.
databasePerTest();

beforeEach(async () => {
  await client.query("select tock.put_queue('q', '{\"max_payload_bytes\": 1024}')");
  const first = await enqueue(client, 'q', numberedTasks(1));
  expect(await claim(client, 'q')).toMatchObject([{ id: first[0] }]);
});

const addTask = async (on: pg.Client, payload: unknown = 1) =>
  (await enqueue(on, 'q', [{ payload }]))[0] as string;

test('a claim of one skips a cancelled task', async () => {
  const [cancelled, other] = [await addTask(client), await addTask(client)];
  await client.query('select tock.cancel(array[$1]::bigint[])', [cancelled]);
  expect(await claim(client, 'q')).toMatchObject([{ id: other }]);
  expect(await claim(client, 'q')).toEqual([]);
  await expectInvariants(client);
});

test('a claim of one does not lease a task that was cancelled since it read', async () => {
  const [cancelled, other] = [await addTask(client), await addTask(client)];
  const leases = await begin();
  await leases.query('lock table tock.leases in share mode');
  const claimed = await blocked(await db.connect(), (on) => claim(on, 'q'));
  await client.query('select tock.cancel(array[$1]::bigint[])', [cancelled]);
  await leases.query('commit');
  expect(await claimed()).toMatchObject([{ id: other }]);
  await expectInvariants(client);
});

test('claims of one in their own transactions promote due tasks', async () => {
  // One claim in sixteen promotes anyway, so the test makes four rounds.
  for (let round = 0; round < 4; round++) {
    await addTask(client);
    const tasks = [{ payload: 'due', priority: 1, delay_seconds: 0.001 }];
    const [due] = await enqueue(client, 'q', tasks);
    await waitUntil('the task is due', () =>
      value(client, 'select max(due_at) < clock_timestamp() from tock.waiting'),
    );
    const id = "select id from tock.claim('q', p_own_transaction => true)";
    expect(await value(client, id)).toBe(due);
  }
});

test('claims of one continue in the next segment', async () => {
  const ids: string[] = [];
  await client.query('select tock.run_maintenance($1)', ['create_segments']);
  for (let task = 0; task < 3; task++) ids.push(await addTask(client));
  await client.query(
    "select setval('tock.positions', (select max(first_position) from tock.segments))",
  );
  for (let task = 0; task < 3; task++) ids.push(await addTask(client));
  const claimed: (string | undefined)[] = [];
  for (const _ of ids) claimed.push((await claim(client, 'q'))[0]?.id);
  expect(claimed).toEqual(ids);
  expect(await claim(client, 'q')).toEqual([]);
});

test('a claim of one past its segment locks only the stream that it leases from', async () => {
  await client.query("select tock.put_queue('q', '{\"lanes\": 64}')");
  const tenants = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const tasks = tenants.map((tenant) => ({ payload: 1, tenant }));
  await enqueue(client, 'q', tasks);
  await complete(client, leaseOf(await claim(client, 'q', { limit: 100 })));
  await enqueue(client, 'q', tasks.slice(7));
  await client.query(
    "select setval('tock.positions', (select min(end_position) from tock.segments))",
  );
  await enqueue(client, 'q', tasks.slice(0, 7));
  for (let round = 0; round < 8; round++) {
    await client.query('begin');
    expect(await claim(client, 'q')).toHaveLength(1);
    const held = await value(
      client,
      "select count(*)::integer from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and objid < 1048576",
    );
    expect(held).toBe(1);
    await client.query('rollback');
  }
});

test("a lease of one run that fails under another session's lock is closed", async () => {
  const [holder, failing] = [await db.connect(), await db.connect()];
  const pid = await pidOf(failing);
  for (let round = 0; round < 4; round++) {
    await addTask(client);
    const lease = leaseOf(await claim(client, 'q'));
    await holder.query('begin');
    expect(await release(holder, lease, ['1'])).toEqual({ released: 0, refused: ['1'] });
    const failed = fail(failing, lease, { fatal: true });
    await Promise.race([failed, waitUntilBlocked(client, pid)]);
    await holder.query('commit');
    expect(await failed).toMatchObject({ failed: 1, dead: 1 });
    expect(await complete(client, lease)).toBeUndefined();
  }
  await expectInvariants(client);
});

test('single tasks of concurrent transactions lie in streams of their own', async () => {
  const open = await begin();
  const held = await addTask(open);
  const id = await addTask(client);
  expect(BigInt(id) & 0xfffffn).not.toBe(BigInt(held) & 0xfffffn);
  expect(await claim(client, 'q')).toMatchObject([{ id }]);
  await open.query('commit');
  expect(await claim(client, 'q')).toMatchObject([{ id: held }]);
  await expectInvariants(client);
});

test('a single task activates its stream', async () => {
  await client.query('select tock.deactivate_streams()');
  expect(await value(client, 'select count(*)::integer from tock.streams where awake')).toBe(0);
  const id = await addTask(client);
  expect(await claim(client, 'q')).toMatchObject([{ id }]);
});

test('a single task is refused below the newest run', async () => {
  const ids = [await addTask(client), await addTask(client), await addTask(client)];
  const [from] = ids;
  // This position is above the stream's start and below its newest run.
  await client.query("select setval('tock.positions', $1::bigint >> 20)", [from]);
  await addTask(client).then(
    (id) => expect(BigInt(id) > BigInt(ids[2] as string)).toBe(true),
    (error) => expect(error.code).toBe('TK503'),
  );
  await expectInvariants(client);
});

test('a whole completion counts the runs that did not fail before', async () => {
  const ids = [await addTask(client), await addTask(client), await addTask(client)];
  const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
  await fail(client, lease, [{ id: ids[1] as string, retry_in_seconds: 100 }]);
  expect(await complete(client, lease)).toEqual({ completed: 2, refused: [] });
  expect(await complete(client, lease)).toEqual({ completed: 2, refused: [] });
});
