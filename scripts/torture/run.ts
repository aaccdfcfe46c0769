import { appendFileSync, closeSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { auditAll } from '../soak/account.ts';
import type { Soak } from '../soak/soak.ts';
import { home } from '../stack/place.ts';
import { withClient } from '../stack/roles.ts';
import { account, accountFires, untilDrained } from './account.ts';
import { openCalls } from './calls.ts';
import { startCrew } from './crew.ts';
import { openFaults, strikeAll } from './faults.ts';
import { type Difference, openLedger } from './ledger.ts';
import { observe } from './observer.ts';
import { planned } from './plan.ts';
import { every, gates, policy, queues } from './queues.ts';
import { openStack, type Stack } from './stack.ts';
import type { Torture } from './torture.ts';
import { startChangers, startReaders, startWriters } from './workload.ts';

export type TortureOptions = { seconds: number; seed: number; say(line: string): void };

/** Queues, gates, a schedule that fires each second, and a key. */
async function furnish(stack: Stack): Promise<string> {
  return withClient(stack.ownerUrl, async (on) => {
    for (const queue of every) await on.query('select tock.put_queue($1, $2)', [queue, policy]);
    for (const [gate, gate_limit] of Object.entries(gates)) {
      await on.query('select tock.put_gate($1, $2, $3)', [queues.gated, gate, { gate_limit }]);
    }
    const schedule = {
      queue: queues.ticks,
      cron: '* * * * * *',
      payload: { n: 0, sure: true },
      missed: 'all',
      missed_limit: 1000,
    };
    await on.query("select tock.put_schedule('each-second', $1)", [schedule]);
    const scopes = ['enqueue', 'claim', 'read', 'admin'];
    const { rows } = await on.query("select key from tock.create_key('torture', $1)", [scopes]);
    return rows[0].key as string;
  });
}

/** What is stored, and what the server said, beside the findings. */
async function keepState({ host, ownerUrl, log }: Stack, folder: string): Promise<void> {
  const dump = await host.run([`${host.bin}/pg_dump`, '--schema=tock', ownerUrl]);
  writeFileSync(join(folder, 'state.sql'), dump);
  writeFileSync(join(folder, 'postgres.log'), (await host.read(log)) ?? '');
}

function figures(counts: Map<string, number>, say: (line: string) => void): void {
  const lines = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [what, times] of lines) say(`  ${what.padEnd(56)} ${times}`);
}

/** Works, breaks and accounts; returns what was lost, doubled or otherwise different. */
export async function torture({ seconds, seed, say }: TortureOptions): Promise<Difference[]> {
  const differences: Difference[] = [];
  const folder = join(home(), `torture-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const findings = join(folder, 'findings.txt');
  const ledger = openLedger((found) => {
    differences.push(found);
    const line = `DIFFERENCE ${found.kind}: ${found.about}: ${found.detail}`;
    if (differences.length <= 50) say(line.slice(0, 300));
    appendFileSync(findings, `${line}\n`);
  });
  const log = openSync(join(folder, 'workerd.log'), 'w');
  const stack = await openStack(log, (kind) => ledger.count(`survived: ${kind}`));
  const key = await furnish(stack);
  const calls = openCalls(stack.url, key);
  const work: Torture = { stack, ledger, calls, key, unfinished: 0, going: true };
  const plan = planned(seconds, seed);
  say(`Torturing for ${seconds} s, seed ${seed}: ${plan.length} faults.`);
  const crew = startCrew(work, 3, seed * 1000);
  const clients = [
    ...startWriters(work, 6, seed * 7),
    ...startChangers(work, 2, seed * 13),
    ...startReaders(work, seed * 17),
    observe(work),
  ];
  try {
    const faults = strikeAll(work, plan, openFaults(work, crew));
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 100));
    say('No new work and no more faults: what is left is worked off.');
    work.going = false;
    for (const way of stack.ways) way.mend();
    await Promise.all([faults, ...clients]);
    for (const way of stack.ways) way.mend();
    const on = await stack.connect(undefined, 600);
    await on.query('select tock.fire_schedules()');
    await on.query("select tock.drop_schedule('each-second')");
    crew.drain();
    await untilDrained(work, on, 120);
    await crew.stop();
    await auditAll({ ledger, say } as unknown as Soak, on);
    say('Accounting.');
    await account(work, on);
    await accountFires(work, on);
    await on.end();
  } catch (error) {
    ledger.differ('the torture itself broke', '', (error as Error).stack ?? String(error));
  }
  work.going = false;
  await crew.stop();
  figures(ledger.counts, say);
  if (differences.length > 0) await keepState(stack, folder).catch(() => {});
  await stack.close();
  closeSync(log);
  if (differences.length === 0) {
    rmSync(folder, { recursive: true });
    say('Nothing was lost, nothing was done twice.');
  } else say(`${differences.length} differences: see ${findings.replace(`${home()}/`, '.tock/')}.`);
  return differences;
}
