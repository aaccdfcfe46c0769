import { Command, CommanderError } from 'commander';
import { Failure } from '../migrate/failure.ts';
import { addArchive } from './commands/archive.ts';
import { addAuditLog } from './commands/audit_log.ts';
import { addBench } from './commands/bench.ts';
import { addBulkChanges } from './commands/bulk_changes.ts';
import { addCancel } from './commands/cancel.ts';
import { addChange } from './commands/change.ts';
import { addChildren } from './commands/children.ts';
import { addClaim } from './commands/claim.ts';
import { addConcurrencyKey } from './commands/concurrency.ts';
import { addDead } from './commands/dead.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEnqueue } from './commands/enqueue.ts';
import { addErase } from './commands/erase.ts';
import { addWhy } from './commands/explain.ts';
import { addExport } from './commands/export.ts';
import { addInit } from './commands/init.ts';
import { addKey } from './commands/key.ts';
import { addLease } from './commands/lease.ts';
import { addLimits } from './commands/limits.ts';
import { addMaintenance } from './commands/maintenance.ts';
import { addMigrate } from './commands/migrate.ts';
import { addMove } from './commands/move.ts';
import { addNodes } from './commands/nodes.ts';
import { addOpenLeases } from './commands/open_leases.ts';
import { addErrors, addFindings } from './commands/pages.ts';
import { addParents } from './commands/parents.ts';
import { addPool } from './commands/pool.ts';
import { addPurge } from './commands/purge.ts';
import { addPush } from './commands/push.ts';
import { addQueue } from './commands/queue.ts';
import { addRerun } from './commands/rerun.ts';
import { addSchedule } from './commands/schedule.ts';
import { addSeries } from './commands/series.ts';
import { addStatus } from './commands/status.ts';
import { addEventLink, addSignal, addSteps } from './commands/steps.ts';
import { addTail } from './commands/tail.ts';
import { addTask } from './commands/task.ts';
import { addTasks } from './commands/tasks.ts';
import { addTick } from './commands/tick.ts';
import { addUninstall } from './commands/uninstall.ts';
import { addUp } from './commands/up.ts';
import { addWhoami } from './commands/whoami.ts';
import { addCompletion, complete, isCompleting } from './completion.ts';
import { visible } from './escape_control.ts';
import { optionsOf } from './output.ts';
import { refuseTwoTargets } from './settings.ts';
import { version } from './version.ts';

const help = `
Options take precedence over the environment, and the environment over .tock/dev.env and .dev.vars
in the current folder.

Exit codes:
  0  done
  1  refused or failed; for doctor: a finding more severe than a note
  2  wrong arguments
  3  not found
  4  the database or the server cannot be reached, or is overloaded
`;

/** All commands. */
export function program(): Command {
  const tock = new Command('tock')
    .description('A task queue in PostgreSQL')
    .version(version())
    .option('--json', 'print JSON')
    .option(
      '--database-url <url>',
      'PostgreSQL; default: DATABASE_URL, then .tock/dev.env, .dev.vars',
    )
    .option('--url <url>', 'Tock over HTTP; default: TOCK_URL, then .tock/dev.env, .dev.vars')
    .option('--key <key>', 'API key for --url; default: TOCK_KEY, then .tock/dev.env, .dev.vars')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('afterAll', help)
    .showHelpAfterError('Use --help to list the options.')
    .hook('preAction', (_program, command) => refuseTwoTargets(optionsOf(command)))
    .configureOutput({ outputError: (message, write) => write(visible(message)) })
    .exitOverride();
  const changes = [
    addEnqueue,
    addTask,
    addTasks,
    addParents,
    addChildren,
    addSteps,
    addSignal,
    addEventLink,
    addCancel,
    addChange,
    addMove,
    addErase,
    addConcurrencyKey,
  ];
  const work = [addClaim, addLease, addPool, addSchedule];
  const bulkCommands = [addDead, addRerun, addBulkChanges, addPurge, addExport];
  const readCommands = [
    addStatus,
    addQueue,
    addTail,
    addOpenLeases,
    addMaintenance,
    addWhy,
    addWhoami,
    addSeries,
    addLimits,
    addDoctor,
    addTick,
  ];
  for (const add of [
    addInit,
    addUp,
    addMigrate,
    addUninstall,
    addNodes,
    addArchive,
    addBench,
    addCompletion,
    addErrors,
    addFindings,
    addKey,
    addAuditLog,
    addPush,
    ...readCommands,
    ...changes,
    ...work,
    ...bulkCommands,
  ])
    add(tock);
  return tock;
}

/** Runs a command and prints its output and error. Returns the exit code. */
export async function run(args: string[]): Promise<number> {
  try {
    if (isCompleting(args)) {
      complete(program(), args);
      return 0;
    }
    await program().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has already printed the error; help and --version end with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { message, stack } = error as Error;
    process.stderr.write(visible(`${process.env.TOCK_DEBUG ? stack : message}\n`));
    return error instanceof Failure ? error.exitCode : 1;
  }
}
