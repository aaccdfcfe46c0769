import type pg from 'pg';
import { withClient } from '../../stack/roles.ts';
import { type Chaos, whileGoing } from '../chaos.ts';
import { codeOf } from '../drivers/sql.ts';
import type { Run } from '../journal.ts';
import { batchOf } from '../load/tasks.ts';
import { dice, pause, type Random } from '../random.ts';
import type { Fault } from './plan.ts';

/** Takes the ids of the tasks that it enqueues in a transaction of its own, and tells what became of them. */
async function enqueueIn(
  chaos: Chaos,
  on: pg.Client,
  random: Random,
  end: (numbers: number[]) => Promise<'sure' | 'none'>,
): Promise<void> {
  const { journal } = chaos;
  const call = `transaction ${Date.now()} ${random(1e6)}`;
  const { queue, tasks, requests } = batchOf(random, call, chaos.take);
  const numbers = requests.map(({ n }) => n);
  for (const request of requests) journal.requested(request);
  let ids: string[] = [];
  try {
    await on.query('begin');
    const { rows } = await on.query('select tock.enqueue(p_queue => $1, p_tasks => $2) as ids', [
      queue,
      JSON.stringify(tasks),
    ]);
    ids = rows[0].ids;
  } catch (error) {
    // Nothing was committed, and nothing will be.
    journal.settled(Date.now(), numbers, 'none');
    throw error;
  }
  const fate = await end(numbers);
  journal.settled(Date.now(), numbers, fate, fate === 'sure' ? ids : []);
}

/** Tasks, and a wish to cancel some that run, in a transaction held open. */
export async function holdOpen(chaos: Chaos, fault: Fault): Promise<number> {
  const random = dice(fault.pick);
  const on = await chaos.stack.connect();
  try {
    await enqueueIn(chaos, on, random, async (numbers) => {
      const ids = chaos.journal.claims.at(-1)?.runs.map(({ id }) => id) ?? [];
      for (const id of ids) chaos.journal.wantsCancel(id);
      const commits = fault.pick % 3 > 0;
      const over = async () => {
        if (ids.length > 0) await on.query('select tock.cancel(p_ids => $1)', [ids]);
        // Over several other faults; a kill of the server rolls it back.
        await whileGoing(chaos, fault.holds * 2);
      };
      await over().catch((error) => {
        chaos.journal.settled(Date.now(), numbers, 'none');
        throw error;
      });
      await on.query(commits ? 'commit' : 'rollback');
      return commits ? 'sure' : 'none';
    });
    return 1;
  } finally {
    void on.end().catch(() => {});
  }
}

/** Two-phase: from `prepare` on it outlives its session and a crash, and somebody else ends it. */
export async function prepare(chaos: Chaos, fault: Fault): Promise<number> {
  const name = `chaos ${fault.pick} ${fault.at}`;
  const fate = fault.pick % 3 > 0 ? 'sure' : 'none';
  const on = await chaos.stack.connect();
  try {
    await enqueueIn(chaos, on, dice(fault.pick), async () => {
      const prepared = await on.query(`prepare transaction '${name}'`).then(
        () => true,
        () => false,
      );
      await whileGoing(chaos, fault.holds * 2);
      const finish = `${fate === 'sure' ? 'commit' : 'rollback'} prepared '${name}'`;
      const attempts = await ended(chaos, finish);
      if (prepared || attempts.ended) return fate;
      if (attempts.count === 1) return 'none';
      throw new Error('connection lost: nobody knows whether it was prepared');
    });
    return 1;
  } finally {
    void on.end().catch(() => {});
  }
}

/** Again and again, as it must not stay: until it is done, or there is none of that name. */
async function ended({ stack }: Chaos, finish: string) {
  for (let count = 1; ; count++) {
    const code = await withClient(stack.ownerUrl, (on) => on.query(finish)).then(
      () => '',
      (error) => codeOf(error),
    );
    if (code === '' || code === '42704') return { count, ended: code === '' };
    await pause(100);
  }
}

/** Plain tasks of the fault's own, committed. */
export async function enqueueOwn(
  { journal, take }: Chaos,
  on: pg.Client,
  many: number,
  delay_seconds = 0,
): Promise<string[]> {
  const sent = Date.now();
  const first = take(many);
  const numbers = Array.from({ length: many }, (_, at) => first + at);
  for (const n of numbers)
    journal.requested({
      n,
      call: `fault ${first}`,
      queue: 'plain',
      sent,
      fate: 'unsure',
      due: sent + delay_seconds * 1000,
    });
  const tasks = numbers.map((n) => ({ payload: { n, v: 0 }, delay_seconds }));
  const text = 'select tock.enqueue(p_queue => $1, p_tasks => $2)::text[] as ids';
  const { rows } = await on.query(text, ['plain', JSON.stringify(tasks)]);
  const { ids } = rows[0];
  journal.settled(Date.now(), numbers, 'sure', ids);
  return ids;
}

type Row = {
  lease: string;
  leased_until: Date;
  id: string;
  run: string;
  attempt: number;
  n: number;
  v: number;
};

const claim = `select lease, leased_until, id::text, run_id::text as run, attempt,
    (payload ->> 'n')::float8 as n, (payload ->> 'v')::float8 as v
  from tock.claim(p_queue => 'plain', p_worker => 'in a transaction', p_limit => 5, p_lease_seconds => 60)`;

/** A worker in SQL: claims and completes in one transaction, held open, of three one rolled back. */
export async function workIn(chaos: Chaos, fault: Fault): Promise<number> {
  const { journal, stack } = chaos;
  const on = await stack.connect();
  try {
    // Of some that the workers have not taken yet.
    await enqueueOwn(chaos, on, 5);
    const sent = Date.now();
    await on.query('begin');
    const { rows } = await on.query<Row>(claim);
    const [first] = rows;
    if (!first) return 0;
    const { lease } = first;
    await on.query('select tock.complete(p_lease => $1)', [lease]);
    await whileGoing(chaos, fault.holds);
    if (fault.pick % 3 === 0) {
      await on.query('rollback');
      return rows.length;
    }
    const runs = rows.map(
      ({ id, run, attempt, n, v }): Run => ({ id, run, attempt, n, version: v }),
    );
    const ending = Date.now();
    journal.ending({
      verb: 'complete',
      lease,
      sent: ending,
      runs,
      final: runs.map(({ id }) => id),
    });
    await on.query('commit');
    const acknowledged = Date.now();
    const until = first.leased_until.getTime();
    journal.claimed({ sent, answered: acknowledged, queue: 'plain', lease, until, runs });
    journal.ended(lease, ending, acknowledged, []);
    return rows.length;
  } finally {
    void on.end().catch(() => {});
  }
}

const tables = ['runs', 'streams', 'leases', 'waiting'];

/** A reader whose snapshot keeps all rows that die meanwhile. */
export async function holdSnapshot(chaos: Chaos, fault: Fault): Promise<number> {
  const on = await chaos.stack.connect();
  try {
    await on.query('begin isolation level repeatable read');
    await on.query(`select count(*) from tock.${tables[fault.pick % tables.length]}`);
    await whileGoing(chaos, fault.holds * 2);
    await on.query('rollback');
    return 1;
  } finally {
    void on.end().catch(() => {});
  }
}
