import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { home } from '../stack/place.ts';
import { withClient } from '../stack/roles.ts';
import type { Chaos, Ledger } from './chaos.ts';
import { call, explained, type Heard } from './drivers/driver.ts';
import { openDriver, type Target } from './drivers/open.ts';
import { cronOn } from './faults/holds.ts';
import { killServer } from './faults/kills.ts';
import { type Fault, planFaults } from './faults/plan.ts';
import { neverFelt, runFaults } from './faults/run.ts';
import { type Difference, openJournal } from './journal.ts';
import { judgeResources, type Sample, thirds } from './judge/resources.ts';
import { judge } from './judge/state.ts';
import { startClients } from './load/clients.ts';
import { startCrew } from './load/crew.ts';
import { policy, queues, schedules } from './load/queues.ts';
import { openReceiver } from './load/receiver.ts';
import { measure } from './measure.ts';
import { openObserver } from './observe.ts';
import { dice, pause } from './random.ts';
import { auditAll, dropHistory } from './segments.ts';
import { type Logs, openLogs } from './server_log.ts';
import { type ChaosStack, openStack } from './stack.ts';

export type Options = {
  driver: Target['driver'];
  seconds: number;
  seed: number;
  say(line: string): void;
  /** No kills: readers, open transactions and the end of a segment once in so many seconds, and flat resources. */
  soak?: number | undefined;
  /** Faults of the driver, from drivers/planted.ts, to see the judge find them. */
  plants?: string[];
  /** Ends it at once, without a judgement. */
  signal?: AbortSignal | undefined;
};

/** How long work goes on after the last fault: what the faults left behind meets ordinary work. */
const calm = 3000;

/** Each sentence compares every run with every lease of its stream: more would take many minutes. */
const mostRuns = 100_000;

/** The queues and schedules, before anything is broken. */
async function setUp(chaos: Chaos, on: pg.Client, url: string): Promise<void> {
  for (const [name, settings] of Object.entries(queues)) {
    await on.query('select tock.put_queue($1, $2)', [name, { ...policy, ...settings }]);
  }
  await on.query('select tock.put_queue($1, $2)', ['pushed', { push: { url } }]);
  const driver = chaos.open(0);
  for (const [schedule, settings] of Object.entries(schedules))
    await call({ driver, random: dice(1) }, 'put schedule', { schedule, settings });
  await driver.close();
}

const unfinished = 'select sum(ready + running + waiting) as left from tock.queue_stats()';

/**
 * How much is unfinished, each half second, and a line each half minute. Expired leases are taken back as often: then
 * a worker that comes late meets others that have its tasks.
 */
async function gauge(chaos: Chaos, differences: Difference[]): Promise<void> {
  let told = performance.now();
  while (chaos.going) {
    await pause(500);
    const { rows } = await withClient(chaos.stack.ownerUrl, async (on) => {
      await on.query('select tock.reap()');
      return on.query(unfinished);
    }).catch(() => ({ rows: [] }));
    chaos.unfinished = Number(rows[0]?.left ?? chaos.unfinished);
    if (performance.now() - told < 30_000) continue;
    told = performance.now();
    const { requests, claims, ends } = chaos.journal;
    chaos.say(
      `  ${requests.size} tasks requested, ${claims.length} claims, ${ends.length} ends, ${chaos.unfinished} unfinished, ${differences.length} differences`,
    );
  }
}

const open = `select pid, usename, state, wait_event, xact_start, query from pg_stat_activity
  where xact_start is not null and pid <> pg_backend_pid()`;

/** No new work and no more faults: what is left is worked off, as long as anything ends within so many seconds. */
async function drain({ stack, ledger }: Chaos, on: pg.Client, seconds: number): Promise<void> {
  await on.query('select tock.drop_schedule(name) from tock.schedules');
  let least = Number.POSITIVE_INFINITY;
  for (let since = performance.now(); least > 0; ) {
    await on.query('select tock.tick()');
    const left = Number((await on.query(unfinished)).rows[0].left);
    if (left < least) since = performance.now();
    least = Math.min(least, left);
    if (performance.now() - since > seconds * 1000) {
      const { rows } = await withClient(stack.superUrl, (sees) => sees.query(open));
      const detail = `${left} tasks, and none ended for ${seconds} s beside ${JSON.stringify(rows)}`;
      return ledger.differ('unfinished', 0, detail);
    }
    await pause(500);
  }
}

/** The faults that this machine can have: some need pg_cron, or a pooler. */
const possible = (plan: Fault[], { host }: ChaosStack) =>
  plan.filter(
    ({ name }) =>
      !(name.startsWith('pg_cron') && !host.cron) && !(/pool/.test(name) && !host.pgbouncer),
  );

function figures(counts: Map<string, number>, samples: Sample[], logs: Logs, say: Options['say']) {
  const kills = [...counts]
    .filter(([what]) => what.startsWith('fault kill') && !/not felt|cut short/.test(what))
    .reduce((sum, [, times]) => sum + times, 0);
  say(`Survived ${kills} kills. All that happened:`);
  for (const [what, times] of [...counts].toSorted()) say(`  ${what.padEnd(64)} ${times}`);
  say('Used in the second third, and in the last:');
  for (const [name, values] of Object.entries(thirds(samples)))
    say(`  ${name.padEnd(64)} ${values.map((value) => value.toFixed(0)).join(', ')}`);
  say('The server said:');
  for (const [what, times] of logs.most(30)) say(`  ${String(times).padStart(7)} ${what}`);
}

/** As that ends, or as soon as it is aborted. */
function orAborted(work: Promise<void>, signal?: AbortSignal): Promise<void> {
  const aborted = new Promise<void>((_, reject) => {
    const stop = () => reject(signal?.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
  // What it still does comes to nothing.
  work.catch(() => {});
  return Promise.race([work, aborted]);
}

/** Works, breaks and judges; returns what was lost, doubled or otherwise different. */
export async function run(options: Options): Promise<Difference[]> {
  const { seconds, seed, say, soak, plants = [] } = options;
  const name = `chaos-${process.pid}`;
  const folder = join(home(), name);
  mkdirSync(folder, { recursive: true });
  const file = openSync(join(folder, 'journal.jsonl'), 'w');
  let closed = false;
  const write = (line: string) => void (closed || writeSync(file, `${line}\n`));
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
        say(`DIFFERENCE ${kind}: task ${task}: ${detail}`.slice(0, 400));
    },
  };
  const heard: Heard = (verb, outcome, detail) => {
    ledger.count(`${verb}: ${outcome}`);
    if (!explained(verb, outcome))
      ledger.differ('an answer that nothing explains', 0, `${verb}: ${outcome} ${detail}`);
  };
  const target: Target = { ...stack.target, plants };
  let next = 1;
  const chaos: Chaos = {
    stack,
    ledger,
    journal: openJournal(write),
    say,
    open: (client) => openDriver(target, heard, client),
    unfinished: 0,
    going: true,
    take: (many) => {
      next += many;
      return next - many;
    },
  };
  const logs = openLogs(stack);
  const observer = openObserver(chaos);
  let on = await stack.connect();
  const receiver = await openReceiver(chaos.journal, (what) => ledger.count(what));
  await setUp(chaos, on, receiver.url);
  await on.end();
  say(
    `${plan.length} faults in ${seconds} s, seed ${seed}, through ${options.driver}; plan and journal are in ${folder.replace(`${home()}/`, '.tock/')}.`,
  );
  const crew = startCrew(chaos, target, heard, 3, seed * 1000);
  const others = [
    ...startClients(chaos, seed),
    gauge(chaos, differences),
    observer.follow(),
    measure(chaos, crew, samples, Math.min(5000, seconds * 50)),
  ];

  async function windUp(): Promise<void> {
    await runFaults(chaos, plan, crew, logs, seconds);
    if (!soak) {
      // pg_cron's launcher comes back with the server.
      await killServer(chaos, logs);
      await cronOn(chaos);
    }
    say('No more faults.');
    await pause(calm);
    chaos.going = false;
    say('No new work: what is left is worked off.');
    await Promise.all(others);
    on = await stack.connect(undefined, 1800);
    crew.drain();
    await drain(chaos, on, 120);
    await crew.stop();
    // Before retention takes what has just ended.
    await observer.look(on, false);
    await auditAll(chaos, on);
    await observer.look(on, true);
    const { requests, stored, claims, ends } = chaos.journal;
    say('Judging.');
    say(
      `  ${requests.size} tasks were requested, ${stored.size} were stored, ${claims.length} claims and ${ends.length} ends were heard.`,
    );
    await dropHistory(chaos, on, mostRuns);
    await judge(chaos, on);
    if (soak && seconds >= 5 * soak)
      for (const { kind, task, detail } of judgeResources(samples))
        ledger.differ(kind, task, detail);
    await logs.read();
    for (const line of logs.broken()) ledger.differ('the server', 0, line);
    for (const kind of neverFelt(plan, counts))
      ledger.differ('a fault that had no effect', 0, kind);
    if (differences.length > 0) {
      const dump = [`${stack.host.bin}/pg_dump`, '--schema=tock', stack.ownerUrl];
      writeFileSync(join(folder, 'state.sql'), await stack.host.run(dump));
    }
    await dropHistory(chaos, on, -1);
  }

  try {
    await orAborted(windUp(), options.signal);
  } catch (error) {
    ledger.differ('the harness itself broke', 0, (error as Error).stack ?? String(error));
  }
  chaos.going = false;
  await crew.stop();
  await on.end().catch(() => {});
  closed = true;
  closeSync(file);
  stopping.abort();
  await stack.close();
  receiver.close();
  figures(counts, samples, logs, say);
  // Passwords of a cluster that is gone.
  rmSync(`${folder}.env`, { force: true });
  if (differences.length === 0) {
    for (const left of [folder, `${folder}.log`]) rmSync(left, { recursive: true, force: true });
    say('Nothing was lost, nothing was done twice.');
  } else say(`${differences.length} differences: see ${folder.replace(`${home()}/`, '.tock/')}.`);
  return differences;
}
