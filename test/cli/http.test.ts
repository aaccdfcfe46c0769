import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../database.ts';
import { serveApp } from './served.ts';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { http, connect, server } = transports('enqueue,read');

const cli = (args: string[], input?: string) => tock(args, { input, env: http() });

test('enqueue, task and status use HTTP if TOCK_URL and TOCK_KEY are set', async () => {
  server().calls.length = 0;
  const id = (await cli(['enqueue', 'mail', '{"to":"a"}', '--priority', '1'])).out.trim();
  const task = await cli(['task', id, '--json']);
  const expected = { id, priority: 1, payload: { to: 'a' }, state: 'ready' };
  expect(JSON.parse(task.out)).toMatchObject(expected);
  const status = await cli(['status']);
  expect(status.out).toMatch(
    /\nmail +1 +0 +0 +0 +\d+ s\n\njob +every .*\n(.*\n)*Segment 1, \d+ ahead\.\n$/,
  );
  expect(server().calls).toEqual([
    'POST /v1/queues/mail/tasks',
    `GET /v1/tasks/${id}`,
    'GET /v1/queues',
    'GET /v1/maintenance',
  ]);
});

test('a wait over HTTP uses calls that wait up to 30 seconds each', async () => {
  const id = (await cli(['enqueue', 'waited', '1'])).out.trim();
  const client = await connect();
  const lease = (await client.query("select lease from tock.claim(p_queue => 'waited')")).rows[0];
  server().calls.length = 0;
  const shown = cli(['task', id, '--wait', '100', '--json']);
  await expect.poll(() => server().calls.length).toBe(1);
  await client.query('select * from tock.complete(p_lease => $1)', [lease.lease]);
  expect(JSON.parse((await shown).out)).toMatchObject({ id, state: 'done' });
  expect(server().calls).toEqual([`GET /v1/tasks/${id}?wait_seconds=30`]);
  server().calls.length = 0;
  const other = (await cli(['enqueue', 'waited', '2'])).out.trim();
  const left = await cli(['task', other, '--wait', '1', '--json']);
  expect(JSON.parse(left.out)).toMatchObject({ id: other, state: 'ready' });
  expect(server().calls).toContain(`GET /v1/tasks/${other}?wait_seconds=1`);
});

test('many lines are sent in batches, and a retry after a 503 adds no task twice', async () => {
  server().refuse(1);
  server().calls.length = 0;
  const input = Array.from({ length: 1500 }, (_, n) => JSON.stringify({ n })).join('\n');
  const { code, out } = await cli(['enqueue', 'bulk', '--many'], input);
  expect(code).toBe(0);
  expect(new Set(out.trim().split('\n')).size).toBe(1500);
  expect(server().calls).toHaveLength(3);
  const status = JSON.parse((await cli(['status', '--json'])).out);
  expect(status.queues).toContainEqual(expect.objectContaining({ name: 'bulk', ready: 1500 }));
});

test('a refusal is one message with a hint', async () => {
  const bad = await cli(['enqueue', 'mail', '1', '--priority', '12']);
  expect(bad).toMatchObject({ code: 2, out: '' });
  expect(bad.err).toBe('--priority: a whole number from 0 to 9\nUse --help to list the options.\n');
  const twice = ['--max-attempts', '0', '--delay', '-1'];
  const worse = await cli(['enqueue', 'mail', '1', ...twice]);
  expect(worse.err).toMatch(/^--(delay|max-attempts): .*\n--(delay|max-attempts): .*\nUse --help/);
  const unknown = await cli(['task', '5242880']);
  expect(unknown).toMatchObject({ code: 3, out: '' });
  const stranger = await cli(['task', '5242880', '--key', 'tock_nobody']);
  expect(stranger).toMatchObject({ code: 1, out: '' });
  expect(stranger.err).toMatch(/tock key create/);
  for (const { err } of [bad, unknown, stranger]) expect(err).not.toMatch(/\n +at /);
});

test('a server that answers 503 to each retry gives exit code 4', async () => {
  server().refuse(3);
  expect(await cli(['doctor', '--json'])).toMatchObject({ code: 4, out: '' });
});

test('the hint for an unreachable database does not mention a request id', async () => {
  const away = await serveApp({ edgeUrl: 'postgres://t:word@127.0.0.1:1/x' } as Database);
  onTestFinished(() => away.close());
  for (const args of [['doctor'], ['queue', 'list'], ['queue', 'pause', 'q']]) {
    const { code, out, err } = await tock(args, { env: { TOCK_URL: away.url, TOCK_KEY: 'k' } });
    expect([args, code, out]).toEqual([args, 4, '']);
    expect(err).toMatch(
      /^The database is unreachable or overloaded.*\nCheck that PostgreSQL runs .*retry\.\n$/,
    );
  }
});
