import type pg from 'pg';
import { sleep } from '../sleep.ts';
import { seededRandom } from '../sql/load.ts';
import { complete, enqueue, fail, release, rows, value } from '../sql/verbs.ts';
import { type Ledger, positionOf } from './ledger.ts';

export type RunningLoad = {
  /** Stops the load after the steps in progress. */
  stop(): Promise<void>;
  /** Settles when all sessions have ended, because they were stopped or their server is gone. */
  ended: Promise<unknown>;
};

type Random = (below: number) => number;
type Step = (on: pg.Client, ledger: Ledger, queue: string, random: Random) => Promise<unknown>;

let numbers = 0;

function acknowledge(ledger: Ledger, id: string): void {
  ledger.newest = Math.max(ledger.newest, positionOf(id));
}

const write: Step = async (on, ledger, queue, random) => {
  const tasks = Array.from({ length: 1 + random(5) }, () => ({
    payload: { n: ++numbers },
    priority: 4 + random(2),
    tenant: `t${random(3)}`,
    ...(random(4) === 0 && { delay_seconds: random(4) / 10 }),
  }));
  const open = random(4) === 0;
  if (open) await on.query('begin');
  const ids = await enqueue(on, queue, tasks);
  for (const id of ids) acknowledge(ledger, id);
  if (open) {
    await sleep(random(40));
    await on.query('commit');
  }
  ids.forEach((id, n) => {
    ledger.accepted.set(id, tasks[n]?.payload.n as number);
  });
};

const work: Step = async (on, ledger, queue, random) => {
  const runs = await rows<{ lease: string; id: string; run_id: string }>(
    on,
    `select lease, id, run_id from tock.claim(
       p_queue => $1, p_limit => $2, p_lease_seconds => 600, p_own_transaction => true)`,
    [queue, 1 + random(10)],
  );
  for (const { run_id } of runs) acknowledge(ledger, run_id);
  const [first] = runs;
  if (!first) return sleep(random(20));
  const { lease } = first;
  const ids = runs.map((run) => run.id);
  const choice = random(10);
  if (choice === 0) {
    ledger.held.set(lease, ids);
  } else if (choice < 3) {
    const part = ids.slice(0, 3);
    const done = await complete(
      on,
      lease,
      part.map((id) => ({ id, result: choice })),
    );
    for (const id of part) if (done && !done.refused.includes(id)) ledger.completed.add(id);
    const failures = ids
      .slice(3, 6)
      .map((id) => ({ id, error: choice, retry_in_seconds: random(3) / 10 }));
    if (failures.length > 0) await fail(on, lease, failures);
    if (ids.length > 6) await release(on, lease);
  } else if (await complete(on, lease)) {
    for (const id of ids) ledger.completed.add(id);
  }
};

const maintenance_jobs = [
  'select tock.promote(1000, true)',
  'select tock.reap(p_sweep => true)',
  'select tock.deactivate_streams()',
  'select tock.tick()',
];

const maintenance_job: Step = async (on, ledger, _queue, random) => {
  await on.query(maintenance_jobs[random(maintenance_jobs.length)] as string);
  const reached = await value<string>(on, 'select last_value from tock.positions');
  ledger.newest = Math.max(ledger.newest, Number(reached));
  await sleep(random(40));
};

/** True if the error means that the server is gone, not that it refused a call. */
function gone(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return /^(08|57P|E[A-Z])/.test(code) || /Connection terminated|not queryable/.test(message);
}

/**
 * Starts writers, workers and maintenance jobs on one queue. They run until they are stopped or their server is
 * gone.
 */
export function startLoad(
  ledger: Ledger,
  connect: () => Promise<pg.Client>,
  queue = 'load',
): RunningLoad {
  const random = seededRandom(Date.now() % 1_000_000);
  let going = true;
  const run = async (step: Step) => {
    const on = await connect();
    while (going) {
      try {
        await step(on, ledger, queue, random);
        // The pause keeps the number of tasks small, because all of them are checked afterwards.
        await sleep(random(8));
      } catch (error) {
        if (gone(error)) return;
        const { code = String(error) } = error as { code?: string };
        ledger.refused.set(code, (ledger.refused.get(code) ?? 0) + 1);
        await on.query('rollback').catch(() => {});
        await sleep(20);
      }
    }
  };
  const ended = Promise.all([write, write, write, work, work, work, maintenance_job].map(run));
  return {
    ended,
    async stop() {
      going = false;
      await ended;
    },
  };
}
