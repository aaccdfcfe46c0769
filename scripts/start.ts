import { join, relative } from 'node:path';
import { migrate } from '../migrate/migrate.ts';
import { buildDashboard } from './dashboard.ts';
import { AGAIN } from './stack/again.ts';
import { readDevEnv, writeDevEnv } from './stack/files.ts';
import { givenDatabase, givenUrl } from './stack/given.ts';
import { guide } from './stack/guide.ts';
import { devKey } from './stack/key.ts';
import { localDatabase } from './stack/local.ts';
import { home } from './stack/place.ts';
import { freePort } from './stack/ports.ts';
import { signal } from './stack/processes.ts';
import { canConnect, openEdge } from './stack/roles.ts';
import { leave, record, recordUrl, take } from './stack/running.ts';
import { aloud as say } from './stack/say.ts';
import { live, type Scope } from './stack/scope.ts';
import { healthy, startWorker } from './stack/worker.ts';

const usage = `Usage: npm start [-- --reset]
  --reset   delete the local data first`;

async function up(scope: Scope, reset: boolean): Promise<void> {
  const started = performance.now();
  const given = givenUrl();
  if (given && reset) {
    throw new Error('--reset forgets the local data only. Unset DATABASE_URL, or leave it out.');
  }
  const urls = given
    ? await say.step('Using DATABASE_URL', () => givenDatabase(given))
    : await localDatabase(say, scope, reset);
  scope.signal.throwIfAborted();
  await say.step('Migrating', async () => {
    await migrate(urls.owner, { log: say.note });
    const word = urls.edgePassword;
    if (word && !given) await openEdge(urls.owner, word);
    else if (word && !(await canConnect(urls.pooled))) await openEdge(urls.owner, word, false);
  });
  const port = await freePort('Worker', say.note);
  const url = `http://127.0.0.1:${port}`;
  await say.step(`Starting the Worker on ${url}`, async () => {
    scope.signal.throwIfAborted();
    await buildDashboard();
    const vars: Record<string, string> = urls.ends ? { DATABASE_URL_ENDS: urls.ends } : {};
    const worker = startWorker(port, urls.pooled, { vars });
    scope.onStop('the Worker', worker.stop);
    record('the Worker', worker.pid);
    await healthy(url, worker, scope.signal);
    scope.needs('The Worker', worker.ended, worker.log);
  });
  say.note('Tasks are pushed to http:// and to this machine too (TOCK_PUSH_PRIVATE=allow).');
  const key = await devKey(urls.owner, readDevEnv().TOCK_KEY);
  await wakeAlarm(url, key, scope.signal);
  writeDevEnv({
    TOCK_URL: url,
    TOCK_KEY: key,
    DATABASE_URL: urls.owner,
    POOLED_DATABASE_URL: urls.pooled,
  });
  recordUrl(url);
  say.note(`Ready after ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  const [envFile, log] = ['dev.env', 'worker.log'].map(shown) as [string, string];
  process.stdout.write(guide(url, key, envFile, log));
}

/** What only SQL enqueues has no call to wake the alarm, which ticks where pg_cron knows no seconds. */
async function wakeAlarm(url: string, key: string, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  await fetch(`${url}/v1/tick`, { method: 'POST', headers, body: '{}', signal });
}

const shown = (name: string) => relative(process.cwd(), join(home(), name));

async function main(args: string[]): Promise<number> {
  // npm takes `npm start --reset` for a setting of its own, and tells us so
  const reset = args.includes('--reset') || process.env.npm_config_reset === 'true';
  const unknown = args.filter((arg) => arg !== '--reset');
  if (unknown.length > 0) {
    const asked = unknown.every((arg) => arg === '--help' || arg === '-h');
    process.stdout.write(asked ? `${usage}\n` : `Unknown: ${unknown.join(' ')}\n${usage}\n`);
    return asked ? 0 : 2;
  }
  const { taken, ...other } = { url: undefined, down: null, ...(await take(say.note)) };
  if (other.down && !reset) {
    signal(other.down, AGAIN);
    say.note(
      'PostgreSQL is started again by the `npm start` that already runs from this checkout.',
    );
    return 0;
  }
  if (!taken) {
    const place = other.url ? `it serves ${other.url}` : 'it is still starting';
    say.note(`Tock already runs from this checkout: ${place}. Ctrl-C there stops it.`);
    return reset ? 1 : 0;
  }
  try {
    return await live(say, (scope) => up(scope, reset));
  } finally {
    await leave();
  }
}

process.exit(await main(process.argv.slice(2)));
