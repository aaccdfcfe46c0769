import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { Failure } from '../migrate/failure.ts';
import { addArchive } from './commands/archive.ts';
import { addActs } from './commands/audit_log.ts';
import { addBench } from './commands/bench.ts';
import { addCancel } from './commands/cancel.ts';
import { addChange } from './commands/change.ts';
import { addClaim } from './commands/claim.ts';
import { addConcurrencyKey } from './commands/concurrency.ts';
import { addDead } from './commands/dead.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEnqueue } from './commands/enqueue.ts';
import { addErase } from './commands/erase.ts';
import { addExport } from './commands/export.ts';
import { addKey } from './commands/key.ts';
import { addLease } from './commands/lease.ts';
import { addLimits } from './commands/limits.ts';
import { addLooks } from './commands/looks.ts';
import { addMigrate } from './commands/migrate.ts';
import { addMove } from './commands/move.ts';
import { addParents } from './commands/parents.ts';
import { addPool } from './commands/pool.ts';
import { addPurge } from './commands/purge.ts';
import { addPush } from './commands/push.ts';
import { addQueue } from './commands/queue.ts';
import { addRerun } from './commands/rerun.ts';
import { addSchedule } from './commands/schedule.ts';
import { addSeries } from './commands/series.ts';
import { addStatus } from './commands/status.ts';
import { addTail } from './commands/tail.ts';
import { addTask } from './commands/task.ts';
import { addTasks } from './commands/tasks.ts';
import { addTick } from './commands/tick.ts';
import { addUninstall } from './commands/uninstall.ts';
import { addUp } from './commands/up.ts';
import { addWhere } from './commands/where.ts';
import { addCompletion, complete, isCompleting } from './completion.ts';
import { optionsOf } from './output.ts';
import { visible } from './plain.ts';
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

/** All commands. */
export function program(): Command {
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
    .configureOutput({ outputError: (said, write) => write(visible(said)) })
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
    addConcurrencyKey,
  ];
  const work = [addClaim, addLease, addPool, addSchedule];
  const many = [addDead, addRerun, addWhere, addPurge, addExport];
  const looks = [addStatus, addQueue, addTail, addLooks, addSeries, addLimits, addDoctor, addTick];
  for (const add of [
    addUp,
    addMigrate,
    addUninstall,
    addArchive,
    addBench,
    addCompletion,
    addKey,
    addActs,
    addPush,
    ...looks,
    ...changes,
    ...work,
    ...many,
  ])
    add(tock);
  return tock;
}

/** What the process ends with; all that is to be said has been printed. */
export async function run(args: string[]): Promise<number> {
  try {
    if (isCompleting(args)) {
      complete(program(), args);
      return 0;
    }
    await program().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed what was wrong already; help and --version end with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { message, stack } = error as Error;
    process.stderr.write(visible(`${process.env.TOCK_DEBUG ? stack : message}\n`));
    return error instanceof Failure ? error.exitCode : 1;
  }
}
