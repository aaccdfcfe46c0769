import type pg from 'pg';
import { withClient } from '../../stack/roles.ts';
import { type Chaos, pauseWhileRunning } from '../chaos.ts';
import { errorCode } from '../drivers/sql.ts';
import type { Run } from '../journal.ts';
import { createBatch } from '../load/tasks.ts';
import { dice, pause, type Random } from '../random.ts';
import type { Fault } from './plan.ts';

/** Enqueues tasks in its own transaction, and records their ids and how the transaction ended. */
async function enqueueIn(
  chaos: Chaos,
  client: pg.Client,
  random: Random,
  end: (numbers: number[]) => Promise<'sure' | 'none'>,
): Promise<void> {
  const { journal } = chaos;
  const call = `transaction ${Date.now()} ${random(1e6)}`;
  const { queue, tasks, requests } = createBatch(random, call, chaos.reserve);
  const numbers = requests.map(({ n }) => n);
  for (const request of requests) journal.requested(request);
  let ids: string[] = [];
  try {
    await client.query('begin');
    const { rows } = await client.query(
      'select tock.enqueue(p_queue => $1, p_tasks => $2) as ids',
      [queue, JSON.stringify(tasks)],
    );
    ids = rows[0].ids;
  } catch (error) {
    // The transaction was not committed and cannot be any more.
    journal.settled(Date.now(), numbers, 'none');
    throw error;
  }
  const fate = await end(numbers);
  journal.settled(Date.now(), numbers, fate, fate === 'sure' ? ids : []);
}

/** Enqueues tasks and cancels some running ones, in a transaction held open. */
export async function holdOpen(chaos: Chaos, fault: Fault): Promise<number> {
  const random = dice(fault.pick);
  const client = await chaos.stack.connect();
  try {
    await enqueueIn(chaos, client, random, async (numbers) => {
      const ids = chaos.journal.claims.at(-1)?.runs.map(({ id }) => id) ?? [];
      for (const id of ids) chaos.journal.wantsCancel(id);
      const commits = fault.pick % 3 > 0;
      const finish = async () => {
        if (ids.length > 0) await client.query('select tock.cancel(p_ids => $1)', [ids]);
        // The transaction stays open during several other faults. A kill of the server rolls it back.
        await pauseWhileRunning(chaos, fault.holds * 2);
      };
      await finish().catch((error) => {
        chaos.journal.settled(Date.now(), numbers, 'none');
        throw error;
      });
      await client.query(commits ? 'commit' : 'rollback');
      return commits ? 'sure' : 'none';
    });
    return 1;
  } finally {
    void client.end().catch(() => {});
  }
}

/** Two-phase commit: a prepared transaction survives its session and a crash, until another session ends it. */
export async function prepare(chaos: Chaos, fault: Fault): Promise<number> {
  const name = `chaos ${fault.pick} ${fault.at}`;
  const fate = fault.pick % 3 > 0 ? 'sure' : 'none';
  const client = await chaos.stack.connect();
  try {
    await enqueueIn(chaos, client, dice(fault.pick), async () => {
      const prepared = await client.query(`prepare transaction '${name}'`).then(
        () => true,
        () => false,
      );
      await pauseWhileRunning(chaos, fault.holds * 2);
      const finish = `${fate === 'sure' ? 'commit' : 'rollback'} prepared '${name}'`;
      const attempts = await ended(chaos, finish);
      if (prepared || attempts.ended) return fate;
      if (attempts.count === 1) return 'none';
      throw new Error('connection lost: it is unknown whether the transaction was prepared');
    });
    return 1;
  } finally {
    void client.end().catch(() => {});
  }
}

/** Ends a prepared transaction. It retries until the transaction does not exist any more, because it must not stay. */
async function ended({ stack }: Chaos, finish: string) {
  for (let count = 1; ; count++) {
    const code = await withClient(stack.ownerUrl, (client) => client.query(finish)).then(
      () => '',
      (error) => errorCode(error),
    );
    if (code === '' || code === '42704') return { count, ended: code === '' };
    await pause(100);
  }
}

/** Enqueues and commits plain tasks of this fault. */
export async function enqueueOwn(
  { journal, reserve }: Chaos,
  client: pg.Client,
  count: number,
  delay_seconds = 0,
): Promise<string[]> {
  const sent = Date.now();
  const first = reserve(count);
  const numbers = Array.from({ length: count }, (_, index) => first + index);
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
  const { rows } = await client.query(text, ['plain', JSON.stringify(tasks)]);
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

/** Claims and completes tasks in one transaction that stays open for a while. One in three is rolled back. */
export async function workIn(chaos: Chaos, fault: Fault): Promise<number> {
  const { journal, stack } = chaos;
  const client = await stack.connect();
  try {
    // Without these tasks the workers might have claimed all.
    await enqueueOwn(chaos, client, 5);
    const sent = Date.now();
    await client.query('begin');
    const { rows } = await client.query<Row>(claim);
    const [first] = rows;
    if (!first) return 0;
    const { lease } = first;
    await client.query('select tock.complete(p_lease => $1)', [lease]);
    await pauseWhileRunning(chaos, fault.holds);
    if (fault.pick % 3 === 0) {
      await client.query('rollback');
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
    await client.query('commit');
    const acknowledged = Date.now();
    const until = first.leased_until.getTime();
    journal.claimed({ sent, answered: acknowledged, queue: 'plain', lease, until, runs });
    journal.ended(lease, ending, acknowledged, []);
    return rows.length;
  } finally {
    void client.end().catch(() => {});
  }
}

const tables = ['runs', 'streams', 'leases', 'waiting'];

/** Holds a snapshot, which keeps vacuum from removing row versions that become dead during that time. */
export async function holdSnapshot(chaos: Chaos, fault: Fault): Promise<number> {
  const client = await chaos.stack.connect();
  try {
    await client.query('begin isolation level repeatable read');
    await client.query(`select count(*) from tock.${tables[fault.pick % tables.length]}`);
    await pauseWhileRunning(chaos, fault.holds * 2);
    await client.query('rollback');
    return 1;
  } finally {
    void client.end().catch(() => {});
  }
}
