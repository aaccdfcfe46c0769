import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import { complete, enqueue, leaseOf, refusal, rows, value } from '../../verbs.ts';
import { putDirectory } from './directory.ts';

// Queue `moving` moves from node 1 to node 2 by the steps of `tock nodes move`.
const databases: Database[] = [];
let old: pg.Client;
let other: pg.Client;

async function openNode(node: number): Promise<pg.Client> {
  const db = await freshDatabase();
  databases.push(db);
  const client = await db.connect();
  await client.query('select tock.found_range($1)', [node]);
  await putDirectory(client, node, { moving: 1, ':1': 1, ':2': 2 });
  return client;
}

beforeAll(async () => {
  [old, other] = [await openNode(1), await openNode(2)];
});
afterAll(() => Promise.all(databases.map((db) => db.drop())));

type ToMove = { row: object; tasks: number; keys: object[]; schedules: string[]; paused: boolean };

const toMove = () => value<ToMove | null>(old, "select tock.queue_to_move('moving')");
const leave = (on = old) => value<string>(on, "select tock.leave_queue('moving')").then(Number);
const claimed = (on: pg.Client) => rows(on, "select lease, id from tock.claim('moving')");
const wrongNode = 'queues are on the wrong node';
const findings = async (on: pg.Client) =>
  (await rows<{ finding: string }>(on, 'select finding from tock.doctor_of_directory()')).map(
    ({ finding }) => finding,
  );

test('a queue moves with its settings, and leaves its node once no task of it is there', async () => {
  expect(await toMove()).toBeNull();
  await old.query('select tock.put_queue(\'moving\', \'{"max_attempts": 3, "lease_seconds": 7}\')');
  await old.query("select tock.put_concurrency_key('moving', 'k', '{\"concurrency_limit\": 4}')");
  await enqueue(old, 'moving', [{}, { delay_seconds: 0.001 }]);
  const found = await toMove();
  expect(found).toMatchObject({ tasks: 2, paused: false, schedules: [] });
  await other.query('select tock.adopt_queue($1, $2)', [
    JSON.stringify(found?.row),
    JSON.stringify(found?.keys),
  ]);
  for (const on of [old, other]) {
    await on.query("update tock_nodes.keys set node = 2 where key = 'moving'");
  }
  expect(await findings(old)).toEqual([wrongNode]);
  await old.query("insert into tock_nodes.moves values ('moving', 1)");
  expect(await findings(old)).toEqual([]);
  const policy = "select lease_seconds, max_attempts from tock.queue('moving')";
  expect(await rows(other, policy)).toEqual([{ lease_seconds: 7, max_attempts: 3 }]);
  expect(await value(other, 'select concurrency_limit from tock.concurrency_keys')).toBe(4);

  expect(await enqueue(other, 'moving', [{}])).toHaveLength(1);
  expect(await leave()).toBe(2);
  const runs = await claimed(old);
  expect(await leave()).toBe(2);
  await complete(old, leaseOf(runs as never));
  expect(await leave()).toBe(1);
  await old.query('select tock.promote()');
  await complete(old, leaseOf((await claimed(old)) as never));
  expect(await leave()).toBe(0);
  expect(await toMove()).toBeNull();
  expect(await refusal(enqueue(old, 'moving', [{}]))).toMatchObject({ code: 'TK421' });
  expect(await refusal(claimed(old))).toMatchObject({ code: 'TK421' });
  expect(await claimed(other)).toHaveLength(1);
  for (const on of [old, other]) await expectInvariants(on);
});

test('a queue does not leave its node while an enqueue is under way', async () => {
  await other.query("select tock.put_queue('busy')");
  const second = await (databases[1] as Database).connect();
  await second.query('begin');
  await enqueue(second, 'busy', [{}]);
  const left = value(other, "select tock.leave_queue('busy')");
  expect(await refusal(left as never)).toMatchObject({ code: '55P03' });
  await second.query('commit');
  expect(await value(other, "select tock.leave_queue('busy')")).toBe('1');
});

test('after a move the old node can neither run its tasks again nor go on to that stage', async () => {
  for (const on of [old, other]) await on.query("insert into tock_nodes.keys values ('left', 1)");
  const pipeline = ['stays', 'left'];
  await enqueue(old, 'stays', [{ pipeline }]);
  const [id] = await enqueue(old, 'left', [{}]);
  await complete(old, leaseOf((await rows(old, "select * from tock.claim('left')")) as never));
  for (const on of [old, other])
    await on.query("update tock_nodes.keys set node = 2 where key = 'left'");
  expect(await value(old, "select tock.leave_queue('left')")).toBe('0');
  const message = 'queue left is on node 2';
  const rerun = old.query('select * from tock.rerun(array[$1::bigint])', [id]);
  expect(await refusal(rerun)).toMatchObject({ code: 'TK422', message, detail: 'ids' });
  const [run] = await rows<{ lease: string }>(old, "select lease from tock.claim('stays')");
  const refused = await refusal(old.query('select * from tock.complete($1)', [run?.lease]));
  expect(refused).toMatchObject({ code: 'TK422', message, detail: 'pipeline' });
});

test('a schedule moves with its next fire, once its last task has ended', async () => {
  const schedule = (on: pg.Client) => rows(on, "select * from tock.schedules('timed')");
  for (const [name, overlap] of Object.entries({ daily: 'queue', lone: 'skip' }))
    await old.query('select tock.put_schedule($1, $2)', [
      name,
      {
        queue: 'timed',
        cron: '0 3 * * 1L',
        time_zone: 'Europe/Berlin',
        overlap,
        jitter_seconds: 9,
      },
    ]);
  for (const name of ['daily', 'lone']) await old.query('select tock.run_schedule($1)', [name]);
  const moved = (await schedule(old)).map((row) => ({ ...row, last_task_id: null }));
  const [, lone] = await schedule(old);
  const take = () => value<object[]>(old, "select tock.take_schedules('timed')");
  const adopt = (taken: object[]) =>
    other.query('select tock.adopt_schedules($1)', [JSON.stringify(taken)]);
  const first = await take();
  await adopt(first);
  expect(await schedule(other)).toEqual(moved.slice(0, 1));
  expect(await schedule(old)).toEqual([lone]);
  expect(await refusal(adopt(first))).toMatchObject({ code: '23505' });
  await complete(
    old,
    leaseOf((await rows(old, "select * from tock.claim('timed', p_limit => 2)")) as never),
  );
  expect(await value(old, "select tock.leave_queue('timed')")).toBe('1');
  await adopt(await take());
  expect(await schedule(other)).toEqual(moved);
  expect(await value(old, "select tock.leave_queue('timed')")).toBe('0');
  const due =
    "update tock.schedule_next_fires set (due_at, fire_at) = (now(), now() - interval '20 s')";
  await other.query(due);
  expect(await value(other, 'select tock.fire_schedules(p_sweep => true)')).toBe(2);
  const outcomes = await rows(
    other,
    "select last_outcome, last_error from tock.schedules('timed')",
  );
  expect(outcomes).toEqual(Array(2).fill({ last_outcome: 'fired', last_error: null }));
});

test('a range that the directory has on another node is a finding', async () => {
  expect(await findings(other)).toEqual([]);
  await other.query("update tock_nodes.keys set node = 1 where key = ':2'");
  expect(await findings(other)).toEqual(['ids lead to another node']);
});
