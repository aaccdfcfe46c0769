import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { auditAll } from '../soak/account.ts';
import { dice, pause } from '../soak/clock.ts';
import { type Logs, openLogs } from '../soak/logs.ts';
import { home } from '../stack/place.ts';
import { withClient } from '../stack/roles.ts';
import { account } from './account.ts';
import { startClients } from './clients.ts';
import { startTormented } from './crew.ts';
import { type Difference, openFacts } from './facts.ts';
import { neverFelt, runFaults } from './faults.ts';
import { cronOn } from './holds.ts';
import { type Fault, planFaults } from './plan.ts';
import { policy, queues, schedules } from './queues.ts';
import { openReceiver } from './receiver.ts';
import { openTortured } from './stack.ts';
import { clientOf, hearing, type Torture } from './torture.ts';

export type TortureOptions = {
  seconds: number;
  seed: number;
  say(line: string): void;
  /** Ends it at once, without an account. */
  signal?: AbortSignal;
};

/** The queues and schedules, before anything is broken. */
async function setUp(torture: Torture, on: pg.Client, url: string): Promise<void> {
  for (const [name, settings] of Object.entries(queues)) {
    await on.query('select tock.put_queue($1, $2)', [name, { ...policy, ...settings }]);
  }
  await on.query('select tock.put_queue($1, $2)', ['pushed', { push: { url } }]);
  const { call } = clientOf(torture, dice(1));
  for (const [name, body] of Object.entries(schedules)) {
    await call('put schedule', `/v1/schedules/${name}`, { method: 'PUT', body });
  }
}

/**
 * A line each half minute, and how much is left each half second. What is over is taken back as often: then a worker
 * that comes late meets others who have its tasks.
 */
async function gauge(torture: Torture, differences: () => number): Promise<void> {
  let told = performance.now();
  while (torture.going) {
    await pause(500);
    const { rows } = await withClient(torture.stack.ownerUrl, async (on) => {
      await on.query('select tock.reap()');
      return on.query(unfinished);
    }).catch(() => ({ rows: [] }));
    torture.left = Number(rows[0]?.left ?? torture.left);
    if (performance.now() - told < 30_000) continue;
    told = performance.now();
    const { asks, claims, ends } = torture.facts;
    torture.say(
      `  ${asks.size} tasks asked for, ${claims.length} claims, ${ends.length} ends, ${torture.left} unfinished, ${differences()} differences`,
    );
  }
}

const unfinished = 'select sum(ready + running + waiting) as left from tock.queue_stats()';

/** How long work goes on after the last fault: what they left behind meets what is as always. */
const calm = 3000;

/** No new work and no more faults: what is left is worked off. */
async function drain(torture: Torture, on: pg.Client, seconds: number): Promise<void> {
  await on.query('select tock.drop_schedule(name) from tock.schedules');
  const end = performance.now() + seconds * 1000;
  for (;;) {
    await on.query('select tock.tick()');
    const left = Number((await on.query(unfinished)).rows[0].left);
    if (left === 0) return;
    if (performance.now() > end) {
      torture.ledger.differ('unfinished', 0, `${left} tasks after ${seconds} s`);
      return;
    }
    await pause(500);
  }
}

function figures(counts: Map<string, number>, logs: Logs, { say }: TortureOptions): void {
  const kills = [...counts]
    .filter(([what]) => what.startsWith('fault kill') && !/nobody|cut short/.test(what))
    .reduce((sum, [, times]) => sum + times, 0);
  say(`Survived ${kills} kills. All that happened:`);
  for (const [what, times] of [...counts].toSorted()) say(`  ${what.padEnd(64)} ${times}`);
  say('The server said:');
  for (const [what, times] of logs.most(30)) say(`  ${String(times).padStart(7)} ${what}`);
}

/** As that ends, or without it. */
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

/** Those that there is something for: without pg_cron, or a pooler, some come to nothing. */
const possible = (plan: Fault[], { host }: Torture['stack']) =>
  plan.filter(
    ({ name }) =>
      !(name.startsWith('pg_cron') && !host.cron) && !(/pool/.test(name) && !host.pgbouncer),
  );

/** Works, breaks and accounts; returns what was lost, doubled or otherwise different. */
export async function torture(options: TortureOptions): Promise<Difference[]> {
  const { seconds, seed, say } = options;
  // Where workerd keeps its own, too; see stack.ts.
  const folder = join(home(), `torture-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const plan = planFaults(seed, seconds);
  writeFileSync(join(folder, 'plan.json'), JSON.stringify(plan, null, 1));
  const file = openSync(join(folder, 'journal.jsonl'), 'w');
  let closed = false;
  const write = (line: string) => void (closed || writeSync(file, `${line}\n`));
  const differences: Difference[] = [];
  const counts = new Map<string, number>();
  const stopping = new AbortController();
  const stack = await openTortured(seed, stopping.signal);
  const ledger: Torture['ledger'] = {
    count: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    differ(kind, task, detail) {
      differences.push({ kind, task: String(task), detail });
      write(JSON.stringify(['difference', kind, task, detail]));
      if (differences.length <= 100)
        say(`DIFFERENCE ${kind}: task ${task}: ${detail}`.slice(0, 400));
    },
  };
  let next = 1;
  const it: Torture = {
    stack,
    ledger,
    facts: openFacts(write),
    heard: hearing({ ledger }),
    roundSeconds: seconds,
    say,
    left: 0,
    going: true,
    take: (many) => {
      next += many;
      return next - many;
    },
  };
  const logs = openLogs(stack);
  let on = await stack.connect();
  const receiver = await openReceiver(it.facts, (what) => ledger.count(what));
  await setUp(it, on, receiver.url);
  await on.end();
  say(
    `${plan.length} faults in ${seconds} s, seed ${seed}; plan and journal are in ${folder.replace(`${home()}/`, '.tock/')}.`,
  );
  const crew = startTormented(it, 3, seed * 1000);
  const others = [...startClients(it, seed), gauge(it, () => differences.length)];
  const torment = async () => {
    await runFaults(it, plan, crew, logs);
    // pg_cron's launcher comes back with the server.
    await logs.read();
    it.facts.crashed(Date.now());
    await stack.restartServer();
    it.facts.crashed(Date.now());
    await cronOn(it);
    say('No more faults.');
    await pause(calm);
    it.going = false;
    say('No new work: what is left is worked off.');
    await Promise.all(others);
    on = await stack.connect(undefined, 1800);
    crew.drain();
    await drain(it, on, 300);
    await crew.stop();
    await auditAll(it, on);
    say('Accounting.');
    await account(it, on);
    await logs.read();
    for (const line of logs.broken()) ledger.differ('the server', 0, line);
    for (const kind of neverFelt(possible(plan, stack), counts))
      ledger.differ('a fault that nobody felt', 0, kind);
    if (differences.length > 0) {
      const dump = [`${stack.host.bin}/pg_dump`, '--schema=tock', stack.ownerUrl];
      writeFileSync(join(folder, 'state.sql'), await stack.host.run(dump));
    }
  };
  try {
    await orAborted(torment(), options.signal);
  } catch (error) {
    ledger.differ('the torture itself broke', 0, (error as Error).stack ?? String(error));
  }
  it.going = false;
  await crew.stop();
  await on.end().catch(() => {});
  closed = true;
  closeSync(file);
  stopping.abort();
  await stack.close();
  receiver.close();
  figures(counts, logs, options);
  // Passwords of a cluster that is gone.
  rmSync(`${folder}.env`, { force: true });
  if (differences.length === 0) {
    for (const left of [folder, `${folder}.log`]) rmSync(left, { recursive: true, force: true });
    say('Nothing was lost, nothing was done twice.');
  } else say(`${differences.length} differences: see ${folder.replace(`${home()}/`, '.tock/')}.`);
  return differences;
}
