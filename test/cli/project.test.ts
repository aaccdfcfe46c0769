import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { anyPort } from '../../scripts/stack/ports.ts';
import { conditionTimeout } from '../timeout.ts';
import { npmSettings, pack, runAsUser } from './packages.ts';
import { emptyDatabase } from './sample_sql.ts';
import { execute } from './tock.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-project-'));
afterAll(() => rmSync(folder, { recursive: true }));

const quiet = {
  WRANGLER_SEND_METRICS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  XDG_CONFIG_HOME: folder,
};

/** Starts `npm run dev` in a process group of its own, which ends after the test. */
async function startDev(app: string, port: number): Promise<void> {
  const argv = ['run', 'dev', '--', '--port', `${port}`, '--inspector-port', '0'];
  const env = { ...process.env, ...npmSettings, ...quiet };
  const dev = spawn('npm', argv, { cwd: app, env, detached: true });
  let output = '';
  for (const stream of [dev.stdout, dev.stderr])
    stream.on('data', (text) => {
      output += text;
    });
  const closed = once(dev, 'close');
  onTestFinished(async () => {
    try {
      process.kill(-(dev.pid as number), 'SIGKILL');
    } catch {
      // All its processes have ended.
    }
    await closed;
  });
  const health = () => fetch(`http://127.0.0.1:${port}/v1/health`).catch(() => null);
  await vi.waitUntil(
    async () => {
      expect(dev.exitCode, output).toBeNull();
      return (await health())?.ok;
    },
    { timeout: conditionTimeout, interval: 100 },
  );
}

test('a project of the packed packages is tested, served, and does its task and its schedule', async () => {
  const tock = await pack('.', folder);
  const create = await pack('./create', folder);
  expect(create.size).toBeLessThan(2_500);
  expect(create.names.sort()).toEqual(['LICENSE', 'README.md', 'main.js', 'package.json']);

  // By `npx tock init` and by `npm create tock`, with tarballs in place of the registry's packages.
  const byCreate = join(folder, 'by-create');
  mkdirSync(byCreate);
  const npx = ['npx', '--yes', '--package', tock.file];
  await runAsUser([...npx, 'tock', 'init', 'my-app'], folder);
  await runAsUser([...npx, '--package', create.file, 'create-tock', 'my-app'], byCreate);
  const app = join(folder, 'my-app');
  await runAsUser(['diff', '--recursive', app, join(byCreate, 'my-app')], folder);

  await runAsUser(['npm', 'install', tock.file], app);
  expect(await runAsUser(['npm', 'test'], app)).toMatch(/Tests.* 2 passed/);
  await runAsUser(['npx', '--no', 'wrangler', 'deploy', '--dry-run'], app, quiet);

  const lacking = await execute(['npm', 'run', 'dev'], { cwd: app, env: npmSettings });
  expect(lacking.code).not.toBe(0);
  expect(lacking.err).toContain('Type: cp .dev.vars.example .dev.vars\n');

  const [port, database] = [await anyPort(), await emptyDatabase()];
  const example = readFileSync(join(app, '.dev.vars.example'), 'utf8');
  const settings = example
    .replace(/^DATABASE_URL=.*$/m, `DATABASE_URL=${database.url}`)
    .replace(/^TOCK_URL=.*$/m, `TOCK_URL=http://127.0.0.1:${port}`);
  writeFileSync(join(app, '.dev.vars'), settings);
  await startDev(app, port);

  const [key = ''] = (await runAsUser(['npm', 'run', '-s', 'key'], app)).split('\n');
  const env = { TOCK_KEY: key };
  const greeted = await runAsUser(['npm', 'run', 'greet', '--', 'Ann'], app, env);
  expect(greeted).toMatch(/task \d+: done { text: 'Hello Ann' }\n$/);

  const scheduled = await runAsUser(['npm', 'run', 'schedules'], app, env);
  expect(scheduled).toMatch(/daily-greeting: next at \d{4}-/);
  const listed = await runAsUser(['npx', '--no', 'tock', 'schedule', 'list'], app, env);
  expect(listed).toMatch(/^daily-greeting +active +greetings +0 7 /m);
  const run = ['npx', '--no', 'tock', 'schedule', 'run', 'daily-greeting'];
  const id = (await runAsUser(run, app, env)).trim();
  const tasks = `http://127.0.0.1:${port}/v1/tasks/${id}?wait_seconds=30`;
  const answer = await fetch(tasks, { headers: { authorization: `Bearer ${key}` } });
  expect(await answer.json()).toMatchObject({ state: 'done', result: { text: 'Hello world' } });
});
