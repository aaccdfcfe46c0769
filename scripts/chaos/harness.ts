import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { home } from '../stack/paths.ts';
import { withClient } from '../stack/roles.ts';
import type { Chaos, Ledger } from './chaos.ts';
import { checkResources, type Sample, thirds } from './checker/resources.ts';
import { check } from './checker/state.ts';
import { call, explained, type OnOutcome } from './drivers/driver.ts';
import { openDriver, type Target } from './drivers/open.ts';
import { enableCron } from './faults/holds.ts';
import { killServer } from './faults/kills.ts';
import { type Fault, planFaults } from './faults/plan.ts';
import { runFaults, withoutEffect } from './faults/run.ts';
import { type Difference, openJournal } from './journal.ts';
import { startClients } from './load/clients.ts';
import { policy, queues, schedules } from './load/queues.ts';
import { openReceiver } from './load/receiver.ts';
import { startWorkers } from './load/workers.ts';
import { measure } from './measure.ts';
import { openObserver } from './observe.ts';
import { dice, pause } from './random.ts';
import { dropHistory, verifyAll } from './segments.ts';
import { type Logs, openLogs } from './server_log.ts';
import { type ChaosStack, openStack } from './stack.ts';

export type Options = {
  driver: Target['driver'];
  seconds: number;
  seed: number;
  print(text: string): void;
  /** A soak: no kills, but long readers and transactions, ends of segments, and a check that resources do not grow. */
  soak?: number | undefined;
  /** Faults of the driver, from drivers/planted_faults.ts, which the checker must find. */
  plants?: string[];
  /** Ends the run at once, without a verdict. */
  signal?: AbortSignal | undefined;
};

/** Milliseconds of work after the last fault, so that its late consequences show. */
const calm = 3000;

/**
 * History is dropped above this number of runs. The checks compare each run with each lease of its stream, which would
 * take many minutes for more runs.
 */
const MAX_RUNS = 100_000;

/** Creates the queues and schedules before any fault. */
async function setUp(chaos: Chaos, client: pg.Client, url: string): Promise<void> {
  for (const [name, settings] of Object.entries(queues)) {
    await client.query('select tock.put_queue($1, $2)', [name, { ...policy, ...settings }]);
  }
  await client.query('select tock.put_queue($1, $2)', ['pushed', { push: { url } }]);
  const driver = chaos.open(0);
  for (const [schedule, settings] of Object.entries(schedules))
    await call({ driver, random: dice(1) }, 'put schedule', { schedule, settings });
  await driver.close();
}

const unfinished = 'select sum(ready + running + waiting) as left from tock.queue_stats()';

/**
 * Counts the unfinished tasks each half second, and prints a line each half minute. It also reaps expired leases, so
 * that other workers lease the tasks of late workers.
 */
async function gauge(chaos: Chaos, differences: Difference[]): Promise<void> {
  let printedAt = performance.now();
  while (chaos.running) {
    await pause(500);
    const { rows } = await withClient(chaos.stack.ownerUrl, async (client) => {
      await client.query('select tock.reap()');
      return client.query(unfinished);
    }).catch(() => ({ rows: [] }));
    chaos.unfinished = Number(rows[0]?.left ?? chaos.unfinished);
    if (performance.now() - printedAt < 30_000) continue;
    printedAt = performance.now();
    const { requests, claims, ends } = chaos.journal;
    chaos.print(
      `  ${requests.size} tasks requested, ${claims.length} claims, ${ends.length} ends, ${chaos.unfinished} unfinished, ${differences.length} differences`,
    );
  }
}

const sessionsQuery = `select pid, usename, state, wait_event, xact_start, query from pg_stat_activity
  where xact_start is not null and pid <> pg_backend_pid()`;

/** Waits until all remaining tasks have ended; throws if none ends for this many seconds. */
async function drain({ stack, ledger }: Chaos, client: pg.Client, seconds: number): Promise<void> {
  await client.query('select tock.drop_schedule(name) from tock.schedules');
  let fewest = Number.POSITIVE_INFINITY;
  for (let lastProgress = performance.now(); fewest > 0; ) {
    await client.query('select tock.tick()');
    const remaining = Number((await client.query(unfinished)).rows[0].left);
    if (remaining < fewest) lastProgress = performance.now();
    fewest = Math.min(fewest, remaining);
    if (performance.now() - lastProgress > seconds * 1000) {
      const { rows } = await withClient(stack.superUrl, (observer) =>
        observer.query(sessionsQuery),
      );
      const detail = `${remaining} tasks are unfinished, and none ended for ${seconds} s. Sessions: ${JSON.stringify(rows)}`;
      return ledger.differ('unfinished', 0, detail);
    }
    await pause(500);
  }
}

const failedJobs =
  'select tock.run_maintenance(d.name), d.name from tock.maintenance_jobs d where d.failures > 0';

/** Runs each job again whose last run met a fault. A job that still fails without load is for the checks to report. */
async function rerunFailedJobs(client: pg.Client): Promise<void> {
  for (let round = 0; round < 20; round++) {
    if ((await client.query(failedJobs)).rows.length === 0) return;
    await pause(250);
  }
}

/** The faults that are possible on this machine; some need pg_cron or a pooler. */
const possible = (plan: Fault[], { host }: ChaosStack) =>
  plan.filter(
    ({ name }) =>
      !(name.startsWith('pg_cron') && !host.cron) && !(/pool/.test(name) && !host.pgbouncer),
  );

function figures(
  counts: Map<string, number>,
  samples: Sample[],
  logs: Logs,
  print: Options['print'],
) {
  const kills = [...counts]
    .filter(([what]) => what.startsWith('fault kill') && !/no effect|cut short/.test(what))
    .reduce((sum, [, times]) => sum + times, 0);
  print(`Survived ${kills} kills. All events:`);
  for (const [what, times] of [...counts].toSorted()) print(`  ${what.padEnd(64)} ${times}`);
  print('Resources used in the second third, and in the last:');
  for (const [name, values] of Object.entries(thirds(samples)))
    print(`  ${name.padEnd(64)} ${values.map((value) => value.toFixed(0)).join(', ')}`);
  print('Messages of the server:');
  for (const [what, times] of logs.most(30)) print(`  ${String(times).padStart(7)} ${what}`);
}

/** Settles as `work` does; rejects at once if the signal aborts. */
function orAborted(work: Promise<void>, signal?: AbortSignal): Promise<void> {
  const aborted = new Promise<void>((_, reject) => {
    const stop = () => reject(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
  // After an abort, a later failure of the work must not end the process.
  work.catch(() => {});
  return Promise.race([work, aborted]);
}

/** Runs the load with its faults, then checks. Returns all differences: work that was lost, done twice or wrong. */
export async function run(options: Options): Promise<Difference[]> {
  const { seconds, seed, print, soak, plants = [] } = options;
  const name = `chaos-${process.pid}`;
  const folder = join(home(), name);
  mkdirSync(folder, { recursive: true });
  const file = openSync(join(folder, 'journal.jsonl'), 'w');
  let closed = false;
  const write = (text: string) => void (closed || writeSync(file, `${text}\n`));
  const differences: Difference[] = [];
  const counts = new Map<string, number>();
  const samples: Sample[] = [];
  const stopping = new AbortController();
  const stack = await openStack(options.driver, seed, stopping.signal);
  const plan = possible(planFaults(options), stack);
  writeFileSync(join(folder, 'plan.json'), JSON.stringify(plan, null, 1));
  const ledger: Ledger = {
    count: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    differ(kind, task, detail) {
      differences.push({ kind, task: String(task), detail });
      write(JSON.stringify(['difference', kind, task, detail]));
      if (differences.length <= 100)
        print(`DIFFERENCE ${kind}: task ${task}: ${detail}`.slice(0, 400));
    },
  };
  const onOutcome: OnOutcome = (verb, outcome, detail) => {
    ledger.count(`${verb}: ${outcome}`);
    if (!explained(verb, outcome))
      ledger.differ('an unexplained answer', 0, `${verb}: ${outcome} ${detail}`);
  };
  const target: Target = { ...stack.target, plants };
  let next = 1;
  const chaos: Chaos = {
    stack,
    ledger,
    journal: openJournal(write),
    print,
    open: (client) => openDriver(target, onOutcome, client),
    unfinished: 0,
    running: true,
    reserve: (count) => {
      next += count;
      return next - count;
    },
  };
  const logs = openLogs(stack);
  const observer = openObserver(chaos);
  let client = await stack.connect();
  const receiver = await openReceiver(chaos.journal, (what) => ledger.count(what));
  await setUp(chaos, client, receiver.url);
  await client.end();
  print(
    `${plan.length} faults in ${seconds} s, seed ${seed}, through ${options.driver}; plan and journal are in ${folder.replace(`${home()}/`, '.tock/')}.`,
  );
  const workers = startWorkers(chaos, target, onOutcome, 3, seed * 1000);
  const background = [
    ...startClients(chaos, seed),
    gauge(chaos, differences),
    observer.follow(),
    measure(chaos, workers, samples, Math.min(5000, seconds * 50)),
  ];

  async function windUp(): Promise<void> {
    await runFaults(chaos, plan, workers, logs, seconds);
    if (!soak) {
      // The launcher of pg_cron starts again with the server.
      await killServer(chaos, logs);
      await enableCron(chaos);
    }
    print('The last fault is over.');
    await pause(calm);
    chaos.running = false;
    print('No new work: the remaining tasks are completed.');
    await Promise.all(background);
    client = await stack.connect(undefined, 1800);
    workers.drain();
    await drain(chaos, client, 120);
    await workers.stop();
    // This look sees tasks that have just ended, before retention drops them.
    await observer.look(client, false);
    await verifyAll(chaos, client);
    await observer.look(client, true);
    const { requests, stored, claims, ends } = chaos.journal;
    print('Checking.');
    print(
      `  ${requests.size} tasks were requested, ${stored.size} were stored, ${claims.length} claims and ${ends.length} ends were recorded.`,
    );
    await dropHistory(chaos, client, MAX_RUNS);
    await rerunFailedJobs(client);
    await check(chaos, client);
    if (soak && seconds >= 5 * soak)
      for (const { kind, task, detail } of checkResources(samples))
        ledger.differ(kind, task, detail);
    await logs.read();
    for (const text of logs.broken()) ledger.differ('the server', 0, text);
    for (const kind of withoutEffect(plan, counts))
      ledger.differ('a fault that had no effect', 0, kind);
    if (differences.length > 0) {
      const dump = [`${stack.host.bin}/pg_dump`, '--schema=tock', stack.ownerUrl];
      writeFileSync(join(folder, 'state.sql'), await stack.host.run(dump));
    }
    await dropHistory(chaos, client, -1);
  }

  try {
    await orAborted(windUp(), options.signal);
  } catch (error) {
    ledger.differ('the harness failed', 0, (error as Error).stack ?? String(error));
  }
  chaos.running = false;
  await workers.stop();
  await client.end().catch(() => {});
  closed = true;
  closeSync(file);
  stopping.abort();
  await stack.close();
  receiver.close();
  figures(counts, samples, logs, print);
  // These files hold the passwords of a cluster that no longer exists.
  rmSync(`${folder}.env`, { force: true });
  if (differences.length === 0) {
    for (const remaining of [folder, `${folder}.log`])
      rmSync(remaining, { recursive: true, force: true });
    print('Nothing was lost, and nothing was done twice.');
  } else print(`${differences.length} differences: see ${folder.replace(`${home()}/`, '.tock/')}.`);
  return differences;
}
