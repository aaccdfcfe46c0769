import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import { complete, enqueue, leaseOf, refusal, rows, value } from '../../verbs.ts';
import { putDirectory } from './directory.ts';

// Two nodes: the queue `here` and range 1 are on node 1, `there` and range 2 on node 2.
const owners = { here: 1, there: 2, ':1': 1, ':2': 2 };
const databases: Database[] = [];
let here: pg.Client;
let there: pg.Client;

async function openNode(node: number): Promise<pg.Client> {
  const db = await freshDatabase();
  databases.push(db);
  const client = await db.connect();
  await client.query('select tock.found_range($1)', [node]);
  await putDirectory(client, node, owners);
  return client;
}

beforeAll(async () => {
  [here, there] = [await openNode(1), await openNode(2)];
});
afterAll(() => Promise.all(databases.map((db) => db.drop())));

const claimed = (on: pg.Client, queue: string, limit = 1) =>
  rows<{ lease: string; id: string; run_id: string }>(
    on,
    'select lease, id, run_id from tock.claim(p_queue => $1, p_limit => $2)',
    [queue, limit],
  );

/** Calls of SQL functions with the values of the parameters. */
type Calls = Record<string, unknown[]>;

async function expectRefused(
  on: pg.Client,
  calls: Calls,
  as: { code: string; message?: unknown; detail?: string; hint?: string },
) {
  for (const [call, values] of Object.entries(calls)) {
    const refused = await refusal(on.query(`select * from tock.${call}`, values));
    expect(refused, call).toMatchObject(as);
  }
}

const task = (options: object = {}) => JSON.stringify([options]);

test('a queue of another node is neither made, nor claimed from, nor changed', async () => {
  const calls: Calls = {
    'enqueue($1, $2)': ['there', task()],
    'enqueue($1, $2, $3)': ['there', task({ delay_seconds: 1 }), 'r1'],
    'enqueue_payloads($1, $2)': ['there', '[1]'],
    'put_queue($1, $2)': ['there', '{"paused": true}'],
    'claim($1)': ['there'],
    'claim($1, p_limit => 9, p_request_id => $2)': ['there', 'r2'],
    'next($1, null)': ['there'],
    'claim_any($1)': [['here', 'there']],
    'claim_for_worker($1, $2)': ['there', 'w'],
    'put_schedule($1, $2)': ['s', '{"queue": "there", "cron": "* * * * *"}'],
    'put_concurrency_key($1, $2, $3)': ['there', 'k', '{"paused": true}'],
    'purge_queue($1)': ['there'],
    'drop_queue($1)': ['there'],
    'cancel_where($1)': ['there'],
    'reprioritize_where($1, $2, $3)': ['there', '{}', 1],
    'redrive($1)': ['there'],
    'start_bulk_change($1, $2)': ['there', 'cancel'],
  };
  const as = {
    code: 'TK421',
    message: 'queue there is on node 2',
    detail: 'queue',
    hint: 'send this call to node 2',
  };
  await expectRefused(here, calls, as);
  expect(await value(here, "select count(*)::int from tock.queues where name = 'there'")).toBe(0);
  expect(await value(here, 'select count(*)::int from tock.worker_leases')).toBe(0);
  expect(await enqueue(there, 'there', [{}])).toHaveLength(1);
  expect(await claimed(there, 'there')).toHaveLength(1);
});

test('a queue that the directory does not know, and those of each node, are here', async () => {
  for (const queue of ['unknown', 'tock-webhooks']) {
    await here.query('select tock.put_queue($1)', [queue]);
  }
  await here.query("select tock.put_queue('*', '{\"lanes\": 8}')");
  expect(await enqueue(here, 'new', [{}])).toHaveLength(1);
  expect(await claimed(here, 'nothing')).toEqual([]);
});

test('a lease of another node is refused, and can be ended there', async () => {
  await enqueue(there, 'there', [{}, { max_attempts: 3 }, {}]);
  for (const limit of [1, 2]) {
    const [run] = await claimed(there, 'there', limit);
    const lease = run?.lease;
    const calls: Calls = {
      'complete($1)': [lease],
      'complete($1, $2)': [lease, JSON.stringify([{ id: run?.id }])],
      'fail($1, $2)': [lease, '{}'],
      'release($1)': [lease],
      'extend($1)': [lease],
      'save_steps($1, $2)': [lease, JSON.stringify([{ id: run?.id, name: 'a', result: 1 }])],
      'lease_steps($1, $2)': [lease, run?.id],
      'queue_of_lease($1)': [lease],
      'next($1, $2)': ['here', JSON.stringify([{ lease }])],
    };
    const message = 'this lease is on node 2';
    await expectRefused(here, calls, { code: 'TK421', message, detail: 'lease' });
    expect(await complete(there, lease as string)).toMatchObject({ completed: limit });
  }
});

test('a task of another node is refused, whether it is waiting, ready, done or unknown', async () => {
  const [ready, waiting] = await enqueue(there, 'there', [{ priority: 0 }, { delay_seconds: 60 }]);
  const unknown = (2n * 2n ** 53n + 12345678n * 2n ** 20n).toString();
  for (const id of [ready, waiting, unknown]) {
    const calls: Calls = {
      'task($1)': [id],
      'queue_of_task($1)': [id],
      'cancel($1)': [[id]],
      'change($1, $2)': [[id], '{"priority": 1}'],
      'move($1, $2)': [[id], 'here'],
      'rerun($1)': [[id]],
      'erase($1)': [id],
      'parents($1)': [id],
      'children($1)': [id],
      'task_steps($1)': [id],
    };
    const message = `task ${id} is on node 2`;
    await expectRefused(here, calls, { code: 'TK421', message, detail: 'id' });
  }
  const [own] = await enqueue(here, 'here', [{}]);
  await expectRefused(here, { 'cancel($1)': [[own, ready]] }, { code: 'TK421' });
  expect(await value(here, 'select state from tock.task($1)', [own])).toBe('ready');
  expect(await value(there, 'select state from tock.task($1)', [waiting])).toBe('waiting');
});

test('an unknown task or lease of a range of this node, or of none, stays unknown', async () => {
  for (const range of [1n, 700n]) {
    const id = (range * 2n ** 53n + 12345678n * 2n ** 20n).toString();
    expect(await rows(here, 'select * from tock.task($1)', [id])).toEqual([]);
    expect(await rows(here, 'select * from tock.cancel($1)', [[id]])).toEqual([]);
  }
  expect(await complete(here, '00000000-0000-4000-8000-00000ffffff0')).toBeUndefined();
});

test('a call that names something of another node beside its own is a TK422 with the field', async () => {
  const [parent] = await enqueue(there, 'there', [{}]);
  const [ready] = await enqueue(here, 'here', [{ priority: 9 }, {}, {}]);
  const [run] = await claimed(here, 'here');
  const [other] = await claimed(here, 'here');
  const spawn = { queue: 'there', tasks: [{}] };
  const invoke = { queue: 'there', payload: 1 };
  const results = JSON.stringify([{ id: run?.id, spawn }]);
  const steps = JSON.stringify([{ id: other?.id, name: 'a', invoke }]);
  const pipeline = ['here', 'there'];
  const calls: [string, unknown[], string][] = [
    ['enqueue($1, $2)', ['here', task({ depends_on: [parent] })], 'depends_on'],
    ['enqueue($1, $2)', ['here', task({ parent })], 'parent'],
    ['enqueue($1, $2)', ['here', task({ pipeline })], 'pipeline'],
    ['move($1, $2)', [[ready], 'there'], 'queue'],
    ['redrive($1, p_to_queue => $2)', ['here', 'there'], 'to_queue'],
    [
      'start_bulk_change($1, $2, p_options => $3)',
      ['here', 'redrive', '{"to_queue": "there"}'],
      'to_queue',
    ],
    ['complete($1, $2)', [run?.lease, results], 'results[0].spawn.queue'],
    ['save_steps($1, $2)', [other?.lease, steps], 'steps[0].invoke.queue'],
  ];
  for (const [call, values, detail] of calls) {
    await expectRefused(
      here,
      { [call]: values },
      {
        code: 'TK422',
        message: expect.stringMatching(/^(queue there|task \d+) is on node 2$/),
        detail,
        hint: 'all that one call names must be on one node: use another queue, or two calls',
      },
    );
  }
  expect(await complete(here, run?.lease as string)).toMatchObject({ completed: 1 });
  expect(await enqueue(here, 'here', [{ depends_on: [ready] }])).toHaveLength(1);
});

test('a queue that exists here is here until its row is dropped, whatever the directory says', async () => {
  await enqueue(here, 'moving', [{}]);
  await here.query("insert into tock_nodes.keys values ('moving', 2)");
  const runs = await claimed(here, 'moving');
  expect(await complete(here, leaseOf(runs as never))).toMatchObject({ completed: 1 });
  await here.query("select tock.put_queue('moving', '{\"paused\": true}')");
  await here.query("select tock.drop_queue('moving')");
  await expectRefused(here, { 'enqueue($1, $2)': ['moving', task()] }, { code: 'TK421' });
});

test('a directory counts only if the owner of Tock or a superuser owns it', async () => {
  const superuser = await databases[0]?.connect(databases[0].superUrl);
  const ownedBy = (role: string) => superuser?.query(`alter schema tock_nodes owner to ${role}`);
  await ownedBy('tock_edge');
  await here.query("select tock.put_queue('there', '{\"paused\": true}')");
  await here.query("select tock.drop_queue('there')");
  await ownedBy('tock');
  await expectRefused(here, { 'put_queue($1)': ['there'] }, { code: 'TK421' });
});

test('both nodes are as whole as one database', async () => {
  for (const on of [here, there]) await expectInvariants(on);
});
