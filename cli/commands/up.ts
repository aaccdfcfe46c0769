import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { migrate } from '../../migrate/migrate.ts';
import { withDatabaseApi } from '../api.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';

/** The folder of a checkout. It has scripts/, which the package does not have. */
const checkout = fileURLToPath(new URL('..', new URL('..', import.meta.url)));
const starter = `${checkout}scripts/bootstrap.mjs`;

/** Runs what `npm start` runs, in this terminal. */
async function start(options: Options<{ reset?: boolean }>): Promise<void> {
  const { databaseUrl: databaseOption, reset } = options;
  const env = { ...process.env, ...(databaseOption && { DATABASE_URL: databaseOption }) };
  const flags = [...(reset ? ['--reset'] : []), ...(databaseOption ? ['--external'] : [])];
  const args = [starter, `${checkout}scripts/start.ts`, ...flags];
  const child = spawn(process.execPath, args, { stdio: 'inherit', env });
  // The terminal sends Ctrl-C to both processes. This one waits until the child has stopped its servers.
  const wait = () => {};
  process.on('SIGINT', wait);
  const [code] = await once(child, 'close');
  process.off('SIGINT', wait);
  if (code !== 0) throw new Failure('The server did not start, or ended with an error.');
}

const next = (key: string) =>
  `
The database is ready. The key, shown only once: ${key}

To deploy: give tock_edge a password (alter role tock_edge login password '…'), then
deploy the Worker with that role's URL as DATABASE_URL, or run it on Node: see docs/deploy.md.
In SQL, without the Worker: tock enqueue hello '{"hello":"world"}' and tock claim hello
`;

/** Prepares a database with a key, because the package has no PostgreSQL and no Worker to run. */
async function prepare(options: Options): Promise<void> {
  const url = databaseUrl(options);
  const log = (message: string) => options.json || process.stdout.write(`${message}\n`);
  const report = await migrate(url, { log });
  const body = { name: 'up', scopes: ['enqueue', 'claim', 'read', 'admin'] };
  const { key, prefix } = await withDatabaseApi(url, (api) => api.call('POST /v1/keys', { body }));
  print(options, { ...report, key, prefix }, () => next(key));
}

export function addUp(program: Command): void {
  program
    .command('up')
    .description('set up and run Tock here, or make a database ready for it')
    .option('--reset', 'delete the local data first')
    .action(async (_options, command: Command) => {
      const options: Options<{ reset?: boolean }> = optionsOf(command);
      if (existsSync(starter) && !options.json) return start(options);
      await prepare(options);
    });
}
