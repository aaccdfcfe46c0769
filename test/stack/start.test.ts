import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { anyPort } from '../../scripts/stack/ports.ts';
import { identify, signal, waitUntilEnded } from '../../scripts/stack/processes.ts';
import { processesOf, removeHome, start, temporaryHome } from './start_process.ts';

const home = temporaryHome();
afterAll(async () => {
  const left = processesOf(home).map(identify);
  for (const { pid } of left) signal(pid, 'SIGKILL');
  await waitUntilEnded(left, 10);
  removeHome(home);
});

const ready = 'Ctrl-C stops everything';

function nobodyLeft(): Promise<void> {
  return expect.poll(() => processesOf(home), { interval: 50 }).toEqual([]);
}

test('Ctrl-C in the middle of start-up leaves no process behind', async () => {
  const stack = await start(home);
  await stack.says('Starting PostgreSQL');
  process.kill(stack.pid, 'SIGINT');
  expect(await stack.exit).toBe(130);
  expect(processesOf(home)).toEqual([]);
});

/** Waits for promotions that follow each other faster than once a minute, the shortest interval of older pg_cron. */
async function promotedWithinTheMinute(): Promise<void> {
  const url = /DATABASE_URL='(.*)'/.exec(readFileSync(`${home}/dev.env`, 'utf8'))?.[1];
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  client.on('error', () => {});
  const seen: number[] = [];
  const looked = "select last_ok_at from tock.maintenance_jobs where name = 'promote'";
  await expect
    .poll(async () => {
      const at = (await client.query(looked)).rows[0].last_ok_at?.getTime();
      if (at && at !== seen.at(-1)) seen.push(at);
      return seen.some((instant, n) => instant - (seen[n - 1] ?? 0) < 30_000);
    })
    .toBe(true);
}

test('the printed commands run a task, a second start is refused, and Ctrl-C ends all processes', async () => {
  const stack = await start(home);
  await stack.says(ready);
  expect(stack.output()).toMatch(/This is PostgreSQL 1\d\.\d+ .+, with pg_cron 1\.\d/);
  // Tasks from SQL are promoted soon even before the first call over HTTP.
  await promotedWithinTheMinute();
  const lines = stack
    .output()
    .split('\n')
    .filter((line) => /^(curl|CLAIM)/.test(line));
  expect(lines).toHaveLength(3);
  const pasted = execFileSync('sh', ['-c', lines.join('\n')], { encoding: 'utf8' });
  expect(pasted).toContain('"world"');
  expect(pasted).toMatch(/"completed" ?: ?1/);
  expect(statSync(`${home}/dev.env`).mode & 0o777).toBe(0o600);
  // Calls that end work have a pool of their own.
  expect(readFileSync(`${home}/worker.env`, 'utf8')).toMatch(/^DATABASE_URL_ENDS=.*\/tock_ends'$/m);

  const url = /Tock serves (\S+)/.exec(stack.output())?.[1] ?? 'no url';
  const second = await start(home);
  expect(await second.exit).toBe(0);
  expect(second.output()).toContain(`already runs in this checkout: it serves ${url}`);

  process.kill(stack.pid, 'SIGINT');
  expect(await stack.exit).toBe(0);
  expect(processesOf(home)).toEqual([]);
});

test('a start uses the next port if one is taken, keeps its key, and recovers after kill -9', async () => {
  const server = createServer();
  const port = await anyPort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const first = await start(home, { TOCK_WORKER_PORT: String(port) });
  await first.says(ready);
  expect(first.output()).toContain(`port ${port} is taken: Worker uses `);
  server.close();
  const key = /Key: (\S+)/.exec(first.output())?.[1] ?? 'no key';
  // After SIGKILL it cannot stop the processes that it started. The kernel signals them that it has ended.
  process.kill(JSON.parse(readFileSync(`${home}/running.json`, 'utf8')).self.pid, 'SIGKILL');
  await first.exit;
  await nobodyLeft();

  const second = await start(home);
  await second.says(ready);
  expect(second.output()).toContain(`Key: ${key}`);
  // After SIGKILL of the bootstrap, the process that it started notices that and stops everything.
  process.kill(second.pid, 'SIGKILL');
  await nobodyLeft();
});

test("after PostgreSQL's end calls get a 503, another start restarts it, and Ctrl-C ends all", async () => {
  const stack = await start(home);
  await stack.says(ready);
  const url = /Tock serves (\S+)/.exec(stack.output())?.[1] ?? 'no url';
  const key = /Key: (\S+)/.exec(stack.output())?.[1] ?? 'no key';
  const enqueued = () =>
    fetch(`${url}/v1/queues/outage/tasks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{"payload": 1}',
    }).then(({ status }) => status);
  const postgres = () =>
    JSON.parse(readFileSync(`${home}/running.json`, 'utf8')).started.PostgreSQL.pid;
  const first = postgres();
  // `pg_ctl stop` sends the same signal.
  process.kill(first, 'SIGINT');
  await stack.says('To restart it, run in another terminal: npm start');
  expect(await enqueued()).toBe(503);
  const again = await start(home);
  expect(await again.exit).toBe(0);
  await stack.says('PostgreSQL runs again.');
  expect(postgres()).not.toBe(first);
  await expect.poll(enqueued).toBe(201);

  const { length } = stack.output();
  process.kill(postgres(), 'SIGKILL');
  await expect.poll(() => stack.output().slice(length)).toContain('PostgreSQL ended');
  process.kill(stack.pid, 'SIGINT');
  expect(await stack.exit).toBe(0);
  expect(processesOf(home)).toEqual([]);
});
