#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { addActs } from './commands/acts.ts';
import { addCancel } from './commands/cancel.ts';
import { addChange } from './commands/change.ts';
import { addClaim } from './commands/claim.ts';
import { addDead } from './commands/dead.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEnqueue } from './commands/enqueue.ts';
import { addErase } from './commands/erase.ts';
import { addGate } from './commands/gate.ts';
import { addHours } from './commands/hours.ts';
import { addKey } from './commands/key.ts';
import { addLease } from './commands/lease.ts';
import { addLimits } from './commands/limits.ts';
import { addMigrate } from './commands/migrate.ts';
import { addMove } from './commands/move.ts';
import { addParents } from './commands/parents.ts';
import { addPool } from './commands/pool.ts';
import { addPurge } from './commands/purge.ts';
import { addPush } from './commands/push.ts';
import { addRerun } from './commands/rerun.ts';
import { addSchedule } from './commands/schedule.ts';
import { addStatus } from './commands/status.ts';
import { addTask } from './commands/task.ts';
import { addTasks } from './commands/tasks.ts';
import { addWhere } from './commands/where.ts';
import { Failure } from './failure.ts';
import { optionsOf } from './output.ts';
import { refuseTwoWays } from './settings.ts';

/** Of package.json, beside cli/ in the source tree and beside dist/ in the package. */
function version(): string {
  const [beside, above] = ['../package.json', '../../package.json'].map((path) => {
    try {
      return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version as string;
    } catch {
      return null;
    }
  });
  return beside ?? above ?? 'unknown';
}

const more = `
An option comes before the environment, and that before .tock/dev.env.

Exit codes:
  0  done
  1  refused or failed; of doctor: something was found that is more than a note
  2  a mistake in what was asked
  3  no such thing
  4  the database or the server is out of reach, or too busy
`;

function program(): Command {
  const tock = new Command('tock')
    .description('A task queue that lives in PostgreSQL')
    .version(version())
    .option('--json', 'print JSON')
    .option('--database-url <url>', 'PostgreSQL; else DATABASE_URL, else .tock/dev.env')
    .option('--url <url>', 'Tock over HTTP; else TOCK_URL, else .tock/dev.env')
    .option('--key <key>', 'the key for it; else TOCK_KEY, else .tock/dev.env')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('afterAll', more)
    .showHelpAfterError('Add --help to see what it takes.')
    .hook('preAction', (_program, command) => refuseTwoWays(optionsOf(command)))
    .exitOverride();
  const changes = [
    addEnqueue,
    addTask,
    addTasks,
    addParents,
    addCancel,
    addChange,
    addMove,
    addErase,
    addGate,
  ];
  const work = [addClaim, addLease, addPool, addSchedule];
  const many = [addDead, addRerun, addWhere, addPurge];
  const looks = [addStatus, addHours, addLimits, addDoctor, addPush];
  for (const add of [addMigrate, addKey, addActs, ...looks, ...changes, ...work, ...many])
    add(tock);
  return tock;
}

async function run(args: string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed what was wrong already; help and --version end with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { message, stack } = error as Error;
    process.stderr.write(`${process.env.TOCK_DEBUG ? stack : message}\n`);
    return error instanceof Failure ? error.exitCode : 1;
  }
}

// A reader that has seen enough, such as head, is no failure.
process.stdout.on('error', () => process.exit(0));
process.exitCode = await run(process.argv.slice(2));
