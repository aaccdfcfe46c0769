import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { home } from '../stack/place.ts';
import { withClient } from '../stack/roles.ts';
import { account, auditAll, dropHistory, untilAllEnded } from './account.ts';
import { startChangers } from './changers.ts';
import { pause } from './clock.ts';
import { startFaults } from './faults.ts';
import { startSoakers } from './heard.ts';
import { known } from './known.ts';
import { type Difference, openLedger } from './ledger.ts';
import { type Logs, openLogs } from './logs.ts';
import { startObserver } from './observer.ts';
import { startClock, startReaders } from './others.ts';
import { queue, type Soak } from './soak.ts';
import { openStack } from './stack.ts';
import { startWriters } from './writers.ts';

const policy = {
  lease_seconds: 4,
  max_attempts: 5,
  max_lost: 20,
  backoff_base_seconds: 0.2,
  backoff_cap_seconds: 3,
  retention_seconds: 60,
};

const epochsNow = `
  select string_agg(e.number || case when e.audited_at is not null then ' audited'
    when e.settled_at is not null then ' settled' else '' end, ', ' order by e.number) as epochs from tock.epochs e`;

export type SoakOptions = {
  minutes: number;
  seed: number;
  roundSeconds: number;
  say(line: string): void;
};

/** A line a round, so that it is seen how fast it goes. */
async function inRounds(work: Soak, minutes: number, differences: () => number): Promise<void> {
  const { ledger, roundSeconds, say, stack } = work;
  const rounds = Math.max(1, Math.round((minutes * 60) / roundSeconds));
  let before = new Map<string, number>();
  for (let round = 1; round <= rounds; round++) {
    await pause(roundSeconds * 1000);
    const since = (what: string) => (ledger.counts.get(what) ?? 0) - (before.get(what) ?? 0);
    const epochs = await withClient(stack.ownerUrl, (client) => client.query(epochsNow)).then(
      ({ rows }) => rows[0].epochs,
      () => 'unknown',
    );
    const each = Math.round(since('milliseconds in claims') / Math.max(1, since('claims')));
    say(
      `round ${round} of ${rounds}: ${since('tasks accepted')} accepted, ${since('runs claimed')} handed out, ` +
        `${since('tasks done')} done, ${ledger.open.size} unfinished, ${each} ms a claim; ` +
        `epochs ${epochs}; ${differences()} differences`,
    );
    before = new Map(ledger.counts);
  }
  // on a slow machine a short soak is over before each fault has come once
  while (!ledger.counts.get('rounds of faults')) await pause(500);
}

/** Every verb and fault with its count, what the server complained of, and how the duties went last. */
async function figures({ ledger, say }: Soak, logs: Logs, on: pg.Client): Promise<void> {
  for (const [what, times] of [...ledger.counts].toSorted()) say(`  ${what.padEnd(52)} ${times}`);
  say('The server said:');
  for (const [what, times] of logs.most(30)) {
    say(`  ${String(times).padStart(7)} ${what}`);
  }
  const { rows } = await on.query(
    'select name, failures, last_amount, last_seconds, last_error from tock.duties order by name',
  );
  for (const duty of rows) say(`  ${JSON.stringify(duty)}`);
}

/** Works, breaks and accounts; returns what was lost, doubled or otherwise different. */
export async function soak(options: SoakOptions): Promise<Difference[]> {
  const { minutes, seed, roundSeconds, say } = options;
  const folder = join(home(), `soak-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const journal = join(folder, 'journal.jsonl');
  const findings = join(folder, 'findings.txt');
  const file = openSync(journal, 'w');
  const differences: Difference[] = [];
  const stack = await openStack();
  let on = await stack.connect();
  const asked: Promise<void>[] = [];
  const ledger = openLedger(
    (event) => writeSync(file, `${JSON.stringify(event)}\n`),
    (found) => {
      differences.push(found);
      if (differences.length > 200) return;
      const line = `DIFFERENCE ${found.kind}: task ${found.task}: ${found.detail}`;
      say(line.slice(0, 300));
      appendFileSync(findings, `${line}\n`);
      if (found.task > 0 && differences.length <= 20) asked.push(tell(found.task));
    },
  );
  // At once, before retention has taken it.
  async function tell(n: number): Promise<void> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const client = await stack.connect().catch(() => null);
      const text = client && (await known(client, ledger.idOf(n), n, journal).catch(() => null));
      await client?.end().catch(() => {});
      if (text) return appendFileSync(findings, `task ${n}:\n${text}\n`);
      await pause(300);
    }
  }

  async function keepState(): Promise<void> {
    const { host, ownerUrl } = stack;
    const dump = await host.run([`${host.bin}/pg_dump`, '--schema=tock', ownerUrl]);
    writeFileSync(join(folder, 'state.sql'), dump);
  }

  const work: Soak = { stack, ledger, roundSeconds, say, keepState, going: true };
  const logs = openLogs(stack);
  await on.query('select tock.put_queue($1, $2)', [queue, policy]);
  say(
    `Soaking for ${minutes} minutes, seed ${seed}; what is said goes to ${journal.replace(`${home()}/`, '.tock/')}.`,
  );
  const crew = startSoakers(work, 3, seed * 1000);
  const others = [
    ...startWriters(work, 6, seed * 7),
    ...startChangers(work, 3, seed * 13),
    ...startClock(work),
    ...startReaders(work, seed * 17),
    startObserver(work),
    startFaults(work, crew, logs, seed * 19),
  ];
  try {
    await inRounds(work, minutes, () => differences.length);
    say('No new work and no more faults: what is left is worked off.');
    work.going = false;
    await Promise.all(others);
    await on.end().catch(() => {});
    on = await stack.connect(undefined, 1800);
    crew.drain();
    await untilAllEnded(work, on, 300);
    await crew.stop();
    await auditAll(work, on);
    say('Accounting.');
    await account(work, on);
    await dropHistory(work, on);
    await logs.read();
    for (const line of logs.broken()) ledger.differ('the server', 0, line);
    await Promise.all(asked);
    await figures(work, logs, on);
  } catch (error) {
    ledger.differ('the soak itself broke', 0, (error as Error).stack ?? String(error));
  }
  work.going = false;
  await crew.stop();
  await on.end().catch(() => {});
  closeSync(file);
  if (differences.length > 0) {
    say(`${differences.length} differences: see ${findings.replace(`${home()}/`, '.tock/')}.`);
  } else {
    rmSync(folder, { recursive: true });
    say('Nothing was lost, nothing was done twice.');
  }
  await stack.close();
  return differences;
}
