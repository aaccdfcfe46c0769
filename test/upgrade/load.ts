import type pg from 'pg';
import { statusOf } from '../../functions/database/errors.ts';
import { sleep } from '../sleep.ts';

/** Calls that continue during a migration, as the HTTP API makes them, and their outcomes. */
export type Load = {
  going: boolean;
  /** The acknowledged ids. How often each was claimed, and how often its completion was acknowledged. */
  accepted: Set<string>;
  handed: Map<string, number>;
  completed: Map<string, number>;
  /** The leases whose completion counted fewer runs than were claimed. */
  short: string[];
  /** How often each SQLSTATE occurred, by verb. */
  errors: Map<string, number>;
  calls: number;
};

export const newLoad = (): Load => ({
  going: true,
  accepted: new Set(),
  handed: new Map(),
  completed: new Map(),
  short: [],
  errors: new Map(),
  calls: 0,
});

const add = (to: Map<string, number>, key: string) => to.set(key, (to.get(key) ?? 0) + 1);

/** The errors after which a caller must repeat the call (503), and the others. */
export function errorsByKind(load: Load) {
  const all = [...load.errors].map(([what, times]) => `${what} × ${times}`);
  const passing = (what: string) => statusOf(what.split(' ')[1]) === 503;
  return { passing: all.filter(passing), other: all.filter((what) => !passing(what)) };
}

/** Repeats a call until it succeeds. A statement that fails has changed nothing. */
async function call<T>(load: Load, verb: string, query: () => Promise<T>): Promise<T> {
  for (;;) {
    load.calls++;
    try {
      return await query();
    } catch (error) {
      add(load.errors, `${verb} ${(error as { code?: string }).code ?? error}`);
      await sleep(20);
    }
  }
}

async function giving(on: pg.Client, load: Load, queue: string): Promise<void> {
  const { rows } = await on.query('select pg_backend_pid() as pid');
  for (let n = 0; load.going; n++) {
    const tasks = JSON.stringify([{ payload: n }, { payload: n, tenant: `t${n % 5}` }]);
    const answer = await call(load, 'enqueue', () =>
      on.query(
        `select t.ids::text[] as ids
         from tock.enqueue(p_queue => $1, p_tasks => $2, p_request_id => $3) as t (ids)`,
        [queue, tasks, `${rows[0].pid} ${n}`],
      ),
    );
    for (const id of answer.rows[0].ids) load.accepted.add(id);
  }
}

const claimed = `select c.lease, c.leased_until, c.id::text as id, c.run_id::text as run_id, c.attempt, c.payload
  from tock.claim(p_queue => $1, p_worker => $2, p_limit => $3, p_lease_seconds => $4, p_request_id => $5,
    p_own_transaction => true) as c`;

type Ended = { rows: { count: number }[] };

/** Ends claimed leases in turn: as a whole, run by run, after a release, after a failure. */
async function doing(on: pg.Client, load: Load, queue: string): Promise<void> {
  for (let n = 0; load.going; n++) {
    const { rows } = await call(load, 'claim', () => on.query(claimed, [queue, 'w', 4, 600, null]));
    if (rows.length === 0) {
      await sleep(5);
      continue;
    }
    const lease = rows[0].lease;
    for (const { id } of rows) add(load.handed, id);
    await call(load, 'extend', () =>
      on.query(
        'select v.leased_until, v.runs from tock.extend(p_lease => $1, p_seconds => $2) as v',
        [lease, 600],
      ),
    );
    const results = n % 3 === 1 ? JSON.stringify(rows.map(({ id }) => ({ id, result: n }))) : null;
    if (n % 3 === 2) {
      await call(load, 'fail', () =>
        on.query(
          'select v.failed, v.dead, v.refused from tock.fail(p_lease => $1, p_failures => $2) as v',
          [lease, JSON.stringify([{ id: rows[0].id, retry_in_seconds: 0 }])],
        ),
      );
      load.handed.set(rows[0].id, (load.handed.get(rows[0].id) ?? 0) - 1);
      rows.shift();
      if (rows.length === 0) continue;
    }
    const ended: Ended = await call(load, 'complete', () =>
      on.query(
        'select v.completed as count, v.refused from tock.complete(p_lease => $1, p_results => $2) as v',
        [lease, results],
      ),
    );
    if (ended.rows[0]?.count === rows.length) for (const { id } of rows) add(load.completed, id);
    else load.short.push(lease);
  }
}

/** Ticks, and runs the maintenance of segments and streams, as pg_cron does. */
async function clock(on: pg.Client, load: Load): Promise<void> {
  while (load.going) {
    await call(load, 'tick', () => on.query('select tock.tick()'));
    await call(load, 'rotate', () =>
      on.query(
        "select tock.run_maintenance('create_segments'), tock.run_maintenance('deactivate_streams')",
      ),
    );
    await sleep(10);
  }
}

type Connect = () => Promise<pg.Client>;

/** Starts writers, workers and ticks. Resolves when all have stopped after `going` became false. */
export async function startLoad(load: Load, edge: Connect, owner: Connect, pairs = 4) {
  const clients = await Promise.all(Array.from({ length: 2 * pairs }, edge));
  const all = clients.map((on, n) => (n < pairs ? giving : doing)(on, load, `load-${n % 2}`));
  all.push(clock(await owner(), load));
  return Promise.all(all);
}
