import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { ended } from '../../scripts/stack/run.ts';
import { healthy } from '../../scripts/stack/worker.ts';
import { type DriverDatabase, startDriverDatabase } from './drivers.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-wrangler-'));
let made: DriverDatabase;
let child: ChildProcess | undefined;
let url: string;

/** wrangler.toml with the lines for Hyperdrive, which are comments in the repository. */
function configuration(): string {
  const text = readFileSync(join(checkout, 'wrangler.toml'), 'utf8');
  const section = /^# \[\[hyperdrive\]\]\n(?:# .+\n)+/m;
  expect(text).toMatch(section);
  return text
    .replace(section, (lines) => lines.replaceAll('# ', ''))
    .replace('"functions/index.ts"', JSON.stringify(join(checkout, 'functions/index.ts')));
}

beforeAll(async () => {
  made = await startDriverDatabase();
  const port = await anyPort();
  url = `http://127.0.0.1:${port}`;
  writeFileSync(join(folder, 'wrangler.toml'), configuration());
  const log = join(folder, 'log');
  const wrangler = join(checkout, 'node_modules', '.bin', 'wrangler');
  const argv = [wrangler, 'dev', '--config', join(folder, 'wrangler.toml'), '--ip', '127.0.0.1'];
  argv.push('--port', String(port), '--inspector-port', '0', '--log-level', 'warn');
  argv.push('--persist-to', folder, '--show-interactive-dev-session=false');
  const out = openSync(log, 'w', 0o600);
  child = spawn(process.execPath, argv, {
    cwd: folder,
    // wrangler and workerd are one process group, which the test ends.
    detached: true,
    stdio: ['ignore', out, out],
    env: {
      ...process.env,
      CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_HYPERDRIVE:
        made.env('hyperdrive').HYPERDRIVE?.connectionString,
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      WRANGLER_SEND_METRICS: 'false',
      TOCK_BUILT: '1',
      WRANGLER_SEND_ERROR_REPORTS: 'false',
      XDG_CONFIG_HOME: folder,
    },
  });
  const worker = { pid: child.pid ?? 0, log, ended: ended(child), stop: async () => {} };
  await healthy(url, worker, new AbortController().signal);
});

afterAll(async () => {
  if (child?.pid) {
    const over = ended(child);
    process.kill(-child.pid, 'SIGKILL');
    await over;
  }
  await made?.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function post(path: string, body: unknown = {}) {
  const headers = { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, init);
  return { status: response.status, body: await response.json() };
}

test('wrangler dev with a Hyperdrive binding enqueues, claims and completes', async () => {
  const payload = { n: 1, text: '😀' };
  const enqueued = await post('/v1/queues/hyper/tasks', { tasks: [{ payload }, { payload }] });
  expect(enqueued).toMatchObject({ status: 201, body: { ids: Array(2).fill(expect.any(String)) } });
  const first = await post('/v1/queues/hyper/claim', { worker: 'w' });
  const second = await post('/v1/queues/hyper/claim', { worker: 'w' });
  expect(first.body.tasks).toMatchObject([{ id: enqueued.body.ids[0], payload }]);
  // The second call had another answer than the same first call, so no cache has answered it.
  expect(second.body.tasks).toMatchObject([{ id: enqueued.body.ids[1], payload }]);
  for (const { body } of [first, second]) {
    const completed = await post(`/v1/leases/${body.lease}/complete`);
    expect(completed).toEqual({ status: 200, body: { completed: 1, refused: [] } });
  }
});
