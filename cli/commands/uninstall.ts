import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type pg from 'pg';
import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../../migrate/failure.ts';
import { ask } from '../ask.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { withBar } from '../progress.ts';
import { databaseUrl } from '../settings.ts';
import { some } from '../table.ts';

type Given = { yes?: boolean; dryRun?: boolean };
type Plan = {
  database: string;
  there: boolean;
  bytes: number;
  relations: number;
  segments: string[];
  queues: number;
  jobs: string[];
  roles: string[];
};

const roles = ['tock_producer', 'tock_worker', 'tock_admin', 'tock_edge'];

/** More locks than these in one transaction need a server that was set up for it. */
const mostAtOnce = 1000;

const planned = `select current_database() as database, to_regnamespace('tock') is not null as there,
  (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_class c
   where c.relnamespace = to_regnamespace('tock') and c.relkind in ('r', 'm')) as bytes,
  (select count(*)::integer from pg_class c where c.relnamespace = to_regnamespace('tock')) as relations,
  array(select c.oid::regclass::text from pg_class c
   where c.relnamespace = to_regnamespace('tock') and c.relispartition and c.relkind = 'r' order by c.oid) as segments,
  array(select r.rolname::text from pg_roles r where r.rolname = any ($1) order by 1) as roles`;

async function planOf(client: pg.Client): Promise<Plan> {
  const [plan] = await ask<Plan>(client, planned, [roles]);
  if (!plan) throw new Error('The catalog said nothing.');
  const [cron] = await ask<{ there: boolean }>(
    client,
    "select to_regclass('cron.job') is not null as there",
  );
  const jobs = cron?.there
    ? await ask<{ jobname: string }>(
        client,
        "select jobname from cron.job where jobname like 'tock:%' and database = current_database() order by 1",
      )
    : [];
  const [queues] = plan.there
    ? await ask<{ n: number }>(
        client,
        "select count(*)::integer as n from tock.queues where name <> '*'",
      )
    : [{ n: 0 }];
  return { ...plan, jobs: jobs.map(({ jobname }) => jobname), queues: queues?.n ?? 0 };
}

function described({ database, bytes, queues, jobs, roles: known }: Plan): string {
  const size = `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return `In the database ${database}:
  the schema tock with all of its ${some(queues, 'queue')}, tasks and history, ${size}
  the jobs of pg_cron: ${jobs.join(', ') || 'none'}
  the roles, where nothing else needs them: ${known.join(', ') || 'none'}
`;
}

async function agreed({ database }: Plan): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new Failure('Nobody is there to ask.', 'Give --yes to drop it all.', 2);
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await asking.question(`This can't be undone. Type ${database} to go on: `);
  asking.close();
  if (typed.trim() !== database) throw new Failure('Nothing was dropped.', undefined, 2);
}

/** Whoever is at work on it is waited for that long. */
const patiently = "set lock_timeout = '10s'";

async function dropped(client: pg.Client, sql: string): Promise<void> {
  try {
    await ask(client, sql);
  } catch (error) {
    if (!/lock timeout|55P03/.test((error as Error).message)) throw error;
    const next = 'Stop what uses Tock there, then run this again: it goes on where it was.';
    throw new Failure('Somebody holds a part of it.', next);
  }
}

/** A role that another database needs stays, and so does one that owns something. */
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
  for (const job of plan.jobs) await ask(client, 'select cron.unschedule($1)', [job]);
  if (plan.relations > mostAtOnce) {
    await withBar(options, 'Tables', plan.segments.length, async (shown) => {
      for (let at = 0; at < plan.segments.length; at += 20) {
        const some = plan.segments.slice(at, at + 20);
        await dropped(client, `drop table if exists ${some.join(', ')} cascade`);
        shown.add(some.length);
      }
    });
  }
  if (plan.there) await dropped(client, 'drop schema tock cascade');
  const kept: string[] = [];
  for (const role of plan.roles) {
    const why = await dropRole(client, role);
    if (why) kept.push(why);
  }
  return kept;
}

async function uninstall(options: Options<Given>) {
  await withDatabase(
    databaseUrl(options),
    async (client) => {
      const plan = await planOf(client);
      const { segments, ...said } = plan;
      if (!plan.there && plan.jobs.length === 0) {
        throw new Failure(`There is no Tock in ${plan.database}.`, undefined, 3);
      }
      if (options.dryRun) return print(options, said, () => described(plan));
      if (!options.yes) {
        process.stderr.write(described(plan));
        await agreed(plan);
      }
      const kept = await drop(client, plan, options);
      print(options, { ...said, kept }, () => {
        const stay = kept.map((why) => `Not dropped: ${why}\n`).join('');
        return `Tock is gone from ${plan.database}.\n${stay}`;
      });
    },
    0,
  );
}

export function addUninstall(program: Command): void {
  program
    .command('uninstall')
    .description('drop the schema tock, its jobs of pg_cron and its roles: all tasks are gone')
    .option('--dry-run', 'only say what would be dropped')
    .option('--yes', 'without asking')
    .action((_given, command: Command) => uninstall(optionsOf(command)));
}
