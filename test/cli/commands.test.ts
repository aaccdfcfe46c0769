import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { anyPort } from '../../scripts/stack/ports.ts';
import { type Database, freshDatabase } from '../database.ts';
import { claim, complete, fail, leaseOf } from '../sql/verbs.ts';
import { tock } from './tock.ts';

let db: Database;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

const cli = (args: string[], input?: string, env = {}) =>
  tock(args, { env: { DATABASE_URL: db.url, ...env }, input });
const json = async (args: string[], input?: string) => {
  const { code, out, err } = await cli([...args, '--json'], input);
  expect(err).toBe('');
  expect(code).toBe(0);
  return JSON.parse(out);
};

test('a task is enqueued and shown with its runs', async () => {
  const options = ['--priority', '2', '--tenant', 'acme', '--max-attempts', '3'];
  const { out } = await cli(['enqueue', 'mail', '{"to":"a"}', ...options]);
  const id = out.trim();
  const client = await db.connect();
  const lease = leaseOf(await claim(client, 'mail', { worker: 'w1' }));
  await fail(client, lease, { error: { name: 'Error', message: 'no route' } });
  expect(await json(['task', id])).toMatchObject({
    id,
    queue: 'mail',
    state: 'waiting',
    priority: 2,
    tenant: 'acme',
    payload: { to: 'a' },
    runs: [{ state: 'failed', worker: 'w1', error: { message: 'no route' } }],
  });
  const shown = (await cli(['task', id])).out;
  expect(shown).toMatch(/^task +\d+\nqueue +mail\nstate +waiting\n/);
  expect(shown).toMatch(/failed +w1 .* no route\n$/);
});

test('task --wait waits until the task has ended or the time is up', async () => {
  const id = (await cli(['enqueue', 'waited', '1'])).out.trim();
  expect(await json(['task', id, '--wait', '0.2'])).toMatchObject({ state: 'ready' });
  const client = await db.connect();
  const lease = leaseOf(await claim(client, 'waited'));
  const shown = cli(['task', id, '--wait', '60']);
  const asking = `select from pg_stat_activity
    where pid <> pg_backend_pid() and datname = current_database() and query ~ 'tock\\.task\\(p_id'`;
  await expect.poll(async () => (await client.query(asking)).rowCount).toBeGreaterThan(0);
  await complete(client, lease, [{ id, result: 'late' }]);
  const { code, out } = await shown;
  expect(code).toBe(0);
  expect(out).toMatch(/\nstate +done\n.*\nresult +"late"\n/s);
  expect((await cli(['task', '1', '--wait', '60'])).code).toBe(3);
  expect(await cli(['task', id, '--wait', 'long'])).toMatchObject({ code: 2, out: '' });
});

test('payloads come from stdin, one alone or one for each line, and a repeat adds no task', async () => {
  const answer = await json(['enqueue', 'pipe', '-'], '[1, 2]\n');
  expect((await json(['task', answer.ids[0]])).payload).toEqual([1, 2]);
  const lines = Array.from({ length: 2500 }, (_, n) => `{"n":${n}}`).join('\n');
  const first = await cli(['enqueue', 'pipe', '--many', '--request-id', 'night'], `${lines}\n\n`);
  const ids = first.out.trim().split('\n');
  expect(new Set(ids).size).toBe(2500);
  const again = await json(['enqueue', 'pipe', '--many', '--request-id', 'night'], lines);
  expect(again.ids).toEqual(ids);
  expect((await json(['task', ids[2499] ?? ''])).payload).toEqual({ n: 2499 });
});

test('a payload keeps its exact form, with any numbers and strings', async () => {
  const payload = '{"n": 12345678901234567890, "s": "{, }"}';
  const client = await db.connect();
  for (const options of [[], ['--priority', '1']]) {
    const { out } = await cli(['enqueue', 'exact', payload, ...options]);
    const { rows } = await client.query('select payload::text from tock.task($1)', [out.trim()]);
    expect(rows).toEqual([{ payload }]);
  }
});

test('an invalid line reports how many tasks are enqueued and how to continue', async () => {
  const lines = `${'1\n'.repeat(1000)}{oops\n`;
  const { code, out, err } = await cli(['enqueue', 'half', '--many'], lines);
  expect(code).toBe(2);
  expect(out.trim().split('\n')).toHaveLength(1000);
  expect(err).toMatch(
    /^Line 1001 is not JSON: .*\n.*\nThe first 1000 tasks are already enqueued\.\n/,
  );
  expect(err).toMatch(/--request-id [0-9a-f-]{36}: no task is enqueued twice\.\n$/);
});

test('status shows queues, maintenance jobs and segments', async () => {
  await cli(['enqueue', 'seen', 'null', '--delay', '3600']);
  const status = await json(['status']);
  expect(status.queues).toContainEqual(
    expect.objectContaining({ name: 'seen', ready: 0, waiting: 1, dead: 0 }),
  );
  expect(status.maintenance_jobs.map((job: { name: string }) => job.name)).toContain('reap');
  expect(status.segments).toMatchObject({ current: 1, ahead: 2 });
  const shown = (await cli(['status'])).out;
  expect(shown).toMatch(/^queue +ready +running +waiting +dead +oldest ready\n/);
  expect(shown).toMatch(/\nprune +60 min +never +no +- +-\n/);
  expect(shown).toMatch(/\nSegment 1, 2 ahead\.\n$/);
});

test('a mistake gives exit code 2 and a hint, without a stack', async () => {
  const cases: [string[], RegExp][] = [
    [['enqueue', 'mail', '{oops'], /The payload is not JSON/],
    [['enqueue', 'no queue', '1'], /^queue: a name of 1 to 100 letters/],
    [['enqueue', 'mail', '1', '--color', 'red'], /unknown option '--color'\nUse --help/],
    [['key', 'create', 'x'], /required option '--scope/],
    [['task', 'one'], /one is not a task id/],
    [['status', '--database-url', 'nowhere'], /not a valid PostgreSQL URL/],
    [['frobnicate'], /unknown command 'frobnicate'/],
  ];
  for (const [args, expected] of cases) {
    const { code, out, err } = await cli(args);
    expect(err).toMatch(expected);
    expect(err).not.toMatch(/\n +at /);
    expect({ args, code, out }).toEqual({ args, code: 2, out: '' });
  }
});

test('an unknown task gives exit code 3, an unreachable server 4, and no target 2', async () => {
  expect(await cli(['task', '5242880'])).toMatchObject({ code: 3, out: '' });
  const dead = await cli(['status', '--database-url', 'postgres://t:word@127.0.0.1:1/x']);
  expect(dead.code).toBe(4);
  expect(dead.err).toMatch(
    /^PostgreSQL at 127\.0\.0\.1:1\/x cannot be used: .*\nNo server listens/,
  );
  const url = `http://127.0.0.1:${await anyPort()}`;
  const web = await cli(['enqueue', 'a', '1', '--url', url, '--key', 'k']);
  expect(web).toMatchObject({ code: 4 });
  expect(web.err).toContain(`${url} does not answer: ECONNREFUSED.\nStart the server`);
  for (const to of [
    ['--database-url', 'postgres://t:word@127.0.0.1:1/x'],
    ['--url', url],
  ]) {
    const doctor = await cli(['doctor', '--json', ...to], undefined, { TOCK_KEY: 'k' });
    expect(doctor).toMatchObject({ code: 4, out: '' });
  }
  const lost = await tock(['status']);
  expect(lost).toMatchObject({ code: 2, out: '' });
  expect(lost.err).toContain('Set TOCK_URL and TOCK_KEY, or DATABASE_URL');
});

test('--help of each command explains the exit codes', async () => {
  for (const args of [['--help'], ['doctor', '--help'], ['key', 'list', '--help']]) {
    const { code, out } = await tock(args);
    expect(out).toMatch(
      /\nExit codes:\n {2}0 .*\n {2}1 .*doctor.*\n {2}2 .*\n {2}3 .*\n {2}4 .*reach/,
    );
    expect(code).toBe(0);
  }
});

test('a connection that breaks during a command gives exit code 4', async () => {
  const client = await db.connect();
  await client.query('begin; lock table tock.maintenance_jobs in access exclusive mode');
  onTestFinished(() => client.query('rollback').then(() => {}));
  const other = await db.connect();
  const cut = cli(['status']);
  const end = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'tock' and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await other.query(end)).rowCount).toBe(1);
  expect(await cut).toMatchObject({ code: 4, out: '' });
});

test('a database without Tock is refused with a hint', async () => {
  const postgres = new URL(db.url);
  postgres.pathname = '/postgres';
  const { code, err } = await cli(['task', '1048576', '--database-url', postgres.href]);
  expect(err).toMatch(
    /does not have this part of Tock: schema "tock" does not exist\.\n.*tock migrate\n$/,
  );
  expect(code).toBe(1);
});
