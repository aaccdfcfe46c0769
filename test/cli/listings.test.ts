import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { claim, complete, enqueue, fail, leaseOf, numberedTasks } from '../sql/verbs.ts';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { cli, connect, env, http, json, out } = transports('enqueue,claim,read,admin');
const folder = mkdtempSync(join(tmpdir(), 'tock-export-'));
let dead: string[];

beforeAll(async () => {
  const client = await connect();
  await enqueue(client, 'shop', numberedTasks(4, 0, { tenant: 'acme' }));
  await enqueue(client, 'shop', [{ payload: 1, unique_key: 'order-7' }]);
  dead = await enqueue(client, 'bills', numberedTasks(2, 0, { max_attempts: 1 }));
  const lease = leaseOf(await claim(client, 'bills', { limit: 2, worker: 'clerk' }));
  await fail(client, lease, { error: { message: '=no "money", none' } });
  await claim(client, 'shop', { limit: 1, worker: 'ann' });
  await client.query('select tock.collect_metrics()');
  await client.query("select tock.put_queue('quiet', '{}')");
});
afterAll(() => rmSync(folder, { recursive: true }));

test('tasks are listed over all queues, and by filters', async () => {
  expect((await json('tasks', 'shop')).tasks).toHaveLength(5);
  expect(await out('tasks', 'bills', '--state', 'dead')).toMatch(
    /task +queue +state.*\n\d+ +bills +dead +5 +- +1 +clerk +20.*=no "money", none\n/,
  );
  expect((await json('tasks', '--tenant', 'acme', '--limit', '3')).tasks).toHaveLength(3);
  const keyed = await json('tasks', 'shop', '--unique-key', 'order-7');
  expect(keyed.tasks).toMatchObject([{ queue: 'shop' }]);
  expect((await json('tasks', 'shop', '--payload', '{"n": 1}')).tasks).toEqual([]);
  expect((await json('tasks', '--waiting-for', 'time')).tasks).toEqual([]);
  const err = 'payload must be a JSON object\nSuch as {"customer": 7}\n';
  expect(await cli('tasks', '--payload', '7')).toMatchObject({ code: 2, err });
  const wrong = await cli('tasks', '--state', 'odd');
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('state') });
});

test('a list prints a table to stdout, even if empty, and remarks to stderr', async () => {
  const series = ['series', '--from', '2020-01-01T00:00:00Z', '--to'];
  for (const [args, heading, expected] of [
    [['tasks', '--worker', 'nobody'], 'task ', 'No such tasks.\n'],
    [['tasks', 'quiet'], 'task ', 'No such tasks.\n'],
    [['dead', 'quiet'], 'dead ', 'No dead task is left to rerun.\n'],
    [['concurrency', 'quiet'], 'key ', 'No task has used a concurrency key.\n'],
    [['leases', '--worker', 'bob'], 'queue ', 'There are no open leases.\n'],
    [['workers', '--queue', 'quiet'], 'worker ', 'No worker has claimed a task in this period.\n'],
    [['limits'], 'queue ', 'No queue has limits.\n'],
    [['pool', 'list'], 'pool ', 'There are no pools.\n'],
    [['pool', 'list', 'none'], 'worker ', 'The pool has no workers and no tasks.\n'],
    [['schedule', 'list'], 'schedule ', 'There are no schedules.\n'],
    [[...series, '2020-01-01T01:00:00Z'], 'time ', 'There are no metrics for this time.\n'],
  ] as const) {
    const { code, out: table, err } = await cli(...args);
    expect([args, code, table.split('\n').length, err]).toEqual([args, 0, 2, expected]);
    expect(table.startsWith(heading), table).toBe(true);
    expect(await cli(...args, '--json')).toMatchObject({ code: 0, err: '' });
  }
  const part = await cli('tasks', 'shop', '--limit', '2');
  expect(part.out.split('\n')).toHaveLength(4);
  expect(part.err).toMatch(/^There may be more: give --limit 20/);
});

test('leases, maintenance jobs and reasons for late tasks are listed', async () => {
  expect(await out('leases')).toMatch(/queue +worker.*\nshop +ann +20.* 1 +1 +\d+\n$/);
  expect((await json('leases', '--worker', 'bob')).leases).toEqual([]);
  expect(await out('workers', '--queue', 'shop')).toMatch(
    /worker +queues.*\nann +shop +20.* 1 +1 +\d\.\d\d\n$/,
  );
  expect((await cli('maintenance')).out).toMatch(/job +every.*\n(.*\n)*collect_metrics +10 s/);
  expect(await out('segments')).toMatch(/segment +state.*\n(.*\n)* *1 +in use /);
  expect(await out('why', 'bills')).toMatch(/warning: tasks die\n.*\n.*tock redrive bills/);
  expect(await out('why', 'quiet')).toBe('Nothing delays quiet.\n');
  expect(await out('why', 'shpo')).toMatch(/warning: there is no queue of this name\n/);
  expect(await out('tick')).toMatch(/^Next due at 20.*\n$|^Nothing is due\n$/);
});

test('metrics are printed as tables and as text for Prometheus', async () => {
  expect(await out('series', 'bills')).toMatch(/time \(UTC\).*\n(.*\n)*20.* 2 +0 +2 +0 +2 /);
  expect((await json('series')).points.length).toBeGreaterThan(50);
  expect(await out('metrics')).toMatch(
    /^# HELP (?:.*\n)*tock_tasks_dead_total{queue="bills"} 2\n(?:.*\n)*tock_steps .*\n$/,
  );
  expect(await cli('series', 'shpo')).toMatchObject({ code: 3 });
  expect(await cli('series', '--step', '7')).toMatchObject({ code: 2 });
});

test('queues are listed, made, changed, paused and resumed', async () => {
  const queue = 'q';
  const set = await out('queue', 'set', queue, 'max_attempts=3', 'backoff_kind=fixed');
  expect(set).toMatch(/max_attempts +3\n/);
  expect(await json('queue', 'show', queue)).toMatchObject({ backoff_kind: 'fixed' });
  expect(await out('queue', 'show', 'shop')).toMatch(
    /\nwaiting +0\n- for their time +0\n- at a concurrency key +0\n- for parents +0\n- for a child +0\n- for an event +0\ndead +0\ndone +\d+\ncancelled +0\nexpired +0\n$/,
  );
  expect(await out('queue', 'show', '*')).not.toContain('waiting');
  expect(await out('queue', 'pause', queue)).toBe(`${queue} is paused\n`);
  expect(await out('queue', 'list')).toMatch(new RegExp(`${queue} +0 +0 +0 +0 +paused`));
  expect(await out('queue', 'resume', queue)).toBe(`${queue} is resumed\n`);
  expect(await json('queue', 'show', queue)).not.toHaveProperty('push_generation');
  const none = { code: 3, err: 'There is no queue nowhere.\nSee: tock queue list\n' };
  for (const command of [
    'queue pause',
    'tasks',
    'dead',
    'concurrency',
    'purge',
    'redrive',
    'export',
  ])
    expect(await cli(...command.split(' '), 'nowhere'), command).toMatchObject(none);
  expect(await out('queue', 'list')).not.toContain('nowhere');
  expect(await cli('queue', 'set', queue, 'max_attempts')).toMatchObject({ code: 2 });
});

test('tasks are exported with all fields, and no existing file is overwritten', async () => {
  const lines = (await out('export', 'shop')).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).queue)).toEqual(Array(5).fill('shop'));
  const file = join(folder, 'found.csv');
  const made = ['export', 'bills', '--format', 'csv', '--out', file] as const;
  expect(await out(...made)).toBe(`2 tasks are in ${file}\n`);
  const rows = readFileSync(file, 'utf8').split('\r\n');
  expect(rows[0]).toMatch(/^id,queue,state,/);
  // The apostrophe makes a spreadsheet treat the cell as text.
  expect(rows[1]).toMatch(/,clerk,"'=no ""money"", none"$/);
  const again = await cli(...made);
  expect(again).toMatchObject({ code: 2, err: expect.stringContaining(file) });
  const [whole] = (await out('export', 'bills', '--payloads')).trim().split('\n');
  expect(JSON.parse(whole ?? '')).toMatchObject({ id: dead[1], payload: 1, runs: [{}] });
});

test('a short bench prints rates and removes its queue', async () => {
  const { measured } = await json('bench', '--tasks', '100', '--connections', '2');
  const pair = (batch: number) => [
    { what: 'enqueue', batch },
    { what: 'claim and complete', batch },
  ];
  expect(measured).toMatchObject([...pair(1), ...pair(100)]);
  expect(await out('queue', 'list')).not.toContain('tock-bench');
});

test("whoami shows the key's rights, only over HTTP", async () => {
  const { out } = await tock(['whoami'], { env: http() });
  expect(out).toMatch(/key +name.*\ntock_[0-9a-f]{8} +all +enqueue, claim, read, admin +all/);
  expect(await tock(['whoami'], { env: env() })).toMatchObject({ code: 2 });
});

test('a bench against another machine is refused unless it is allowed', async () => {
  const env = { TOCK_URL: 'https://tock.example', TOCK_KEY: 'k' };
  const { code, err } = await tock(['bench'], { env });
  expect([code, err]).toEqual([2, expect.stringContaining('tock.example is not this machine')]);
});

test('tasks that wait for others are listed with how far these are', async () => {
  const client = await connect();
  const callback = { depends_on: ['*'], on_parent_failure: 'wait' };
  await enqueue(client, 'books', [...numberedTasks(1200), callback]);
  const lease = leaseOf(await claim(client, 'books', { limit: 3 }));
  await fail(client, lease, { error: 'no', fatal: true });
  await complete(client, leaseOf(await claim(client, 'books', { limit: 900 })));
  expect(await out('tasks', '--waiting-for', 'dependency')).toMatch(
    /^task .* at +parents\n\d+ +books +waiting .* {2}900 of 1200 done, 3 dead\n$/,
  );
});

test('a claim without a name has that of the host and the process that called the command', async () => {
  const client = await connect();
  await enqueue(client, 'named', numberedTasks(2));
  await out('claim', 'named');
  const request = ['--request-id', 'the same'];
  await out('claim', 'named', ...request);
  const workers = (await json('leases', '--queue', 'named')).leases.map(
    ({ worker }: { worker: string | null }) => worker,
  );
  expect(workers).toEqual([expect.stringMatching(`^${hostname()}:\\d+$`), null]);
});
