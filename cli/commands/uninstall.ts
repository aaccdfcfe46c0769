import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type pg from 'pg';
import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { withBar } from '../progress.ts';
import { databaseUrl } from '../settings.ts';
import { runStatement } from '../statement.ts';
import { plural } from '../table.ts';

type Flags = { yes?: boolean; dryRun?: boolean };
type Plan = {
  database: string;
  exists: boolean;
  bytes: number;
  relations: number;
  segments: string[];
  queues: number;
  jobs: string[];
  roles: string[];
};

const roles = ['tock_producer', 'tock_worker', 'tock_admin', 'tock_edge'];

/** Drops at most this many tables in one transaction: each needs locks, and a server limits their number. */
const MAX_TABLES = 1000;

const planned = `select current_database() as database, to_regnamespace('tock') is not null as exists,
  (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_class c
   where c.relnamespace = to_regnamespace('tock') and c.relkind in ('r', 'm')) as bytes,
  (select count(*)::integer from pg_class c where c.relnamespace = to_regnamespace('tock')) as relations,
  array(select c.oid::regclass::text from pg_class c
   where c.relnamespace = to_regnamespace('tock') and c.relispartition and c.relkind = 'r' order by c.oid) as segments,
  array(select r.rolname::text from pg_roles r where r.rolname = any ($1) order by 1) as roles`;

async function readPlan(client: pg.Client): Promise<Plan> {
  const [plan] = await runStatement<Plan>(client, planned, [roles]);
  if (!plan) throw new Error('The catalog query returned no row.');
  const [cron] = await runStatement<{ exists: boolean }>(
    client,
    "select to_regclass('cron.job') is not null as exists",
  );
  const jobs = cron?.exists
    ? await runStatement<{ jobname: string }>(
        client,
        "select jobname from cron.job where jobname like 'tock:%' and database = current_database() order by 1",
      )
    : [];
  const [queues] = plan.exists
    ? await runStatement<{ n: number }>(
        client,
        "select count(*)::integer as n from tock.queues where name <> '*'",
      )
    : [{ n: 0 }];
  return { ...plan, jobs: jobs.map(({ jobname }) => jobname), queues: queues?.n ?? 0 };
}

function described({ database, bytes, queues, jobs, roles: knownRoles }: Plan): string {
  const size = `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return `Database ${database}:
  the schema tock with all of its ${plural(queues, 'queue')}, tasks and history, ${size}
  the pg_cron jobs: ${jobs.join(', ') || 'none'}
  the roles, unless other databases need them: ${knownRoles.join(', ') || 'none'}
`;
}

async function agreed({ database }: Plan): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new Failure(
      'There is no terminal to ask for confirmation.',
      'Give --yes to drop everything.',
      2,
    );
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await asking.question(`This cannot be undone. Type ${database} to continue:`);
  asking.close();
  if (typed.trim() !== database) {
    const next = 'To drop Tock, repeat the command and type this name.';
    throw new Failure(`Nothing was dropped: the answer was not ${database}.`, next, 2);
  }
}

/** Waits up to 10 seconds for locks that other sessions hold. */
const patiently = "set lock_timeout = '10s'";

async function dropped(client: pg.Client, sql: string): Promise<void> {
  try {
    await runStatement(client, sql);
  } catch (error) {
    if (!/lock timeout|55P03/.test((error as Error).message)) throw error;
    const next =
      'Stop what uses Tock there, then repeat the command: it continues where it stopped.';
    throw new Failure('Another session holds a lock on a part of Tock.', next);
  }
}

/** Drops a role, unless another database needs it or it owns objects; then returns the reason. */
async function dropRole(client: pg.Client, role: string): Promise<string | null> {
  await client.query('begin');
  try {
    await client.query(`drop owned by ${role}`);
    await client.query(`drop role ${role}`);
    await client.query('commit');
    return null;
  } catch (error) {
    await client.query('rollback');
    return `${role}: ${(error as Error).message}`;
  }
}

async function drop(client: pg.Client, plan: Plan, options: Options): Promise<string[]> {
  await client.query(patiently);
  for (const job of plan.jobs) await runStatement(client, 'select cron.unschedule($1)', [job]);
  if (plan.relations > MAX_TABLES) {
    await withBar(options, 'Tables', plan.segments.length, async (progress) => {
      for (let offset = 0; offset < plan.segments.length; offset += 20) {
        const batch = plan.segments.slice(offset, offset + 20);
        await dropped(client, `drop table if exists ${batch.join(', ')} cascade`);
        progress.add(batch.length);
      }
    });
  }
  if (plan.exists) await dropped(client, 'drop schema tock cascade');
  const keptRoles: string[] = [];
  for (const role of plan.roles) {
    const why = await dropRole(client, role);
    if (why) keptRoles.push(why);
  }
  return keptRoles;
}

async function uninstall(options: Options<Flags>) {
  await withDatabase(
    databaseUrl(options),
    async (client) => {
      const plan = await readPlan(client);
      const { segments, ...summary } = plan;
      if (!plan.exists && plan.jobs.length === 0) {
        throw new Failure(`The database ${plan.database} has no Tock.`, undefined, 3);
      }
      if (options.dryRun) return print(options, summary, () => described(plan));
      if (!options.yes) {
        process.stderr.write(described(plan));
        await agreed(plan);
      }
      const keptRoles = await drop(client, plan, options);
      print(options, { ...summary, kept: keptRoles }, () => {
        const stay = keptRoles.map((why) => `Not dropped: ${why}\n`).join('');
        return `Tock is removed from ${plan.database}.\n${stay}`;
      });
    },
    0,
  );
}

export function addUninstall(program: Command): void {
  program
    .command('uninstall')
    .description('drop the schema tock, its jobs of pg_cron and its roles: all tasks are gone')
    .option('--dry-run', 'only show what would be dropped')
    .option('--yes', 'without asking for confirmation')
    .action((_options, command: Command) => uninstall(optionsOf(command)));
}
