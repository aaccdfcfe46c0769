import { join, relative } from 'node:path';
import { migrate } from '../migrate/migrate.ts';
import { buildModules } from './modules/build.ts';
import {
  describeDatabase,
  externalDatabase,
  externalUrl,
  refusal,
} from './stack/external_database.ts';
import { readDevEnv, writeDevEnv } from './stack/files.ts';
import { guide } from './stack/guide.ts';
import { devKey } from './stack/key.ts';
import { localDatabase } from './stack/local.ts';
import { home } from './stack/paths.ts';
import { freePort } from './stack/ports.ts';
import { signal } from './stack/processes.ts';
import { AGAIN } from './stack/restart.ts';
import { canConnect, enableEdgeLogin } from './stack/roles.ts';
import { acquire, record, recordUrl, release } from './stack/running.ts';
import { runInScope, type Scope } from './stack/scope.ts';
import { aloud as reporter } from './stack/step_reporter.ts';
import { healthy, startWorker } from './stack/worker.ts';

const usage = `Usage: npm start [-- --reset | --external]
  --reset      delete the local data first
  --external   use and migrate the database of DATABASE_URL instead of starting a PostgreSQL`;

async function up(scope: Scope, reset: boolean): Promise<void> {
  const started = performance.now();
  const external = externalUrl();
  const urls = external
    ? await reporter.step(`Using ${describeDatabase(external)} (DATABASE_URL)`, () =>
        externalDatabase(external),
      )
    : await localDatabase(reporter, scope, reset);
  scope.signal.throwIfAborted();
  await reporter.step('Migrating', async () => {
    await migrate(urls.owner, { log: reporter.note });
    const word = urls.edgePassword;
    if (word && !external) await enableEdgeLogin(urls.owner, word);
    else if (word && !(await canConnect(urls.pooled)))
      await enableEdgeLogin(urls.owner, word, false);
  });
  const port = await freePort('Worker', reporter.note);
  const url = `http://127.0.0.1:${port}`;
  await reporter.step(`Starting the Worker on ${url}`, async () => {
    scope.signal.throwIfAborted();
    await buildModules();
    const vars: Record<string, string> = urls.ends ? { DATABASE_URL_ENDS: urls.ends } : {};
    const worker = startWorker(port, urls.pooled, { vars });
    scope.onStop('the Worker', worker.stop);
    record('the Worker', worker.pid);
    await healthy(url, worker, scope.signal);
    scope.needs('The Worker', worker.ended, worker.log);
  });
  reporter.note('Push also delivers to http:// and to this machine (TOCK_PUSH_PRIVATE=allow).');
  const key = await devKey(urls.owner, readDevEnv().TOCK_KEY);
  await wakeAlarm(url, key, scope.signal);
  writeDevEnv({
    TOCK_URL: url,
    TOCK_KEY: key,
    DATABASE_URL: urls.owner,
    POOLED_DATABASE_URL: urls.pooled,
  });
  recordUrl(url);
  reporter.note(`Ready after ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  const [envFile, log] = ['dev.env', 'worker.log'].map(relativePath) as [string, string];
  process.stdout.write(guide(url, key, envFile, log));
}

/** Starts the alarm by a first call over HTTP, because calls in SQL do not wake it. */
async function wakeAlarm(url: string, key: string, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  await fetch(`${url}/v1/tick`, { method: 'POST', headers, body: '{}', signal });
}

const relativePath = (name: string) => relative(process.cwd(), join(home(), name));

async function main(args: string[]): Promise<number> {
  // npm takes `npm start --reset` as a setting of its own, and passes it on in the environment.
  const has = (name: string) =>
    args.includes(`--${name}`) || process.env[`npm_config_${name}`] === 'true';
  const [reset, external] = [has('reset'), has('external')];
  const unknown = args.filter((arg) => arg !== '--reset' && arg !== '--external');
  if (unknown.length > 0) {
    const isHelp = unknown.every((arg) => arg === '--help' || arg === '-h');
    process.stdout.write(
      isHelp ? `${usage}\n` : `Unknown option: ${unknown.join(' ')}\n${usage}\n`,
    );
    return isHelp ? 0 : 2;
  }
  const refused = refusal(externalUrl(), { external, reset });
  if (refused) {
    process.stdout.write(`${refused}\n`);
    return 2;
  }
  const { taken: acquired, ...running } = {
    url: undefined,
    down: null,
    ...(await acquire(reporter.note)),
  };
  if (running.down && !reset) {
    signal(running.down, AGAIN);
    reporter.note('PostgreSQL is restarted by the `npm start` that already runs in this checkout.');
    return 0;
  }
  if (!acquired) {
    const status = running.url ? `it serves ${running.url}` : 'it is still starting';
    reporter.note(`Tock already runs in this checkout: ${status}. Stop it with Ctrl-C there.`);
    return reset ? 1 : 0;
  }
  try {
    return await runInScope(reporter, (scope) => up(scope, reset));
  } finally {
    await release();
  }
}

process.exit(await main(process.argv.slice(2)));
