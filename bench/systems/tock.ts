import pg from 'pg';
import { migrate } from '../../migrate/migrate.ts';
import { listed, payload } from '../payload.ts';
import type { Shape, System, TestDatabase } from '../types.ts';

/** The queue's name in the SQL of a pgbench script; :queue is set if there are several. */
export const queueOf = ({ queues }: Shape) => (queues === 1 ? "'q'" : "'q' || :queue::text");
export const setQueue = ({ queues }: Shape) =>
  queues === 1 ? '' : `\\set queue random(1, ${queues})\n`;

/** The names of a shape's queues. */
export const queueNames = ({ queues }: Shape) =>
  queues === 1 ? ['q'] : Array.from({ length: queues }, (_, n) => `q${n + 1}`);

/** The names of the steps of a flow. */
export const stepNames = (count: number) =>
  Array.from({ length: count }, (_, n) => `step ${n + 1}`);

/** Enqueues from eight connections at once, so that the streams of eight writers exist. */
async function fill(database: TestDatabase, tasks: number, shape: Shape): Promise<void> {
  const names = queueNames(shape);
  const batch = Math.max(1, Math.min(1000, Math.ceil(tasks / names.length / 4)));
  const task = `{"payload": ${payload(shape.bytes)}}`;
  const text = `[${Array(batch).fill(task).join(',')}]`;
  let calls = Math.ceil(tasks / batch);
  const writer = async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      while (calls-- > 0) {
        const values = [names[calls % names.length], text];
        const statement = 'select cardinality(tock.enqueue($1, $2))';
        await client.query({ name: 'fill', text: statement, values });
      }
    } finally {
      await client.end();
    }
  };
  await Promise.all(Array.from({ length: 8 }, writer));
}

async function number(database: TestDatabase, sql: string): Promise<number> {
  return Number(Object.values((await database.client.query(sql)).rows[0])[0]);
}

// Tasks are counted by the sequence: it gives one position to each task, and one when a stream begins or wakes. A count
// of runs would read them all before each window, and so set their hint bits outside the window.
const positions = 'select last_value from tock.positions';

export const tock: System = {
  name: 'tock',
  version: 'this checkout',
  settings: [
    'enqueue: one call of tock.enqueue, for several tasks of tock.enqueue_payloads, with JSON text; all ids come back',
    'claim with p_own_transaction (commits asynchronously), all payloads to the client, then complete by the lease (commits synchronously): two statements',
    'a flow: claim, save_steps for each step with 100 bytes of JSON, complete; by its client workSql(), which holds a transaction for each handler beside',
    'no pg_cron: tick() is called every five seconds of its windows instead',
  ],
  lacks: [],
  maintenance: { sql: 'select tock.tick()', every: 5 },
  // TOCK_SQL_DIRECTORY names another sql/, to compare it.
  prepare: async (database) =>
    void (await migrate(database.url, { directory: process.env.TOCK_SQL_DIRECTORY })),
  fill,
  enqueue(shape) {
    const one = payload(shape.bytes);
    const [verb, item, type] =
      shape.batch === 1
        ? ['enqueue', `{"payload": ${one}}`, 'jsonb']
        : ['enqueue_payloads', one, 'json'];
    const { set, text } = listed(shape.batch, item, ['[', ']']);
    const call = `select tock.${verb}(${queueOf(shape)}, ${text}::${type});`;
    return { by: 'pgbench', script: `${setQueue(shape)}${set}\n${call}\n` };
  },
  cycle(shape) {
    const args = `p_queue => ${queueOf(shape)}, p_limit => ${shape.batch}, p_own_transaction => true`;
    // After an empty claim, :lease is still the previous lease. Completing it again does not change the counts.
    const claim = `select lease, id, payload from tock.claim(${args}) \\aset`;
    const complete = 'select * from tock.complete(:lease::uuid);';
    return { by: 'pgbench', script: `${setQueue(shape)}${claim}\n${complete}\n` };
  },
  flow(steps, by) {
    if (by === 'client')
      return { by: 'node', module: 'peers/tock_flow.ts', options: { steps, processes: 2 } };
    const claim = `select lease, id, payload from tock.claim('q', p_own_transaction => true) \\aset`;
    const save = (name: string) => {
      const step = `'", "name": "${name}", "result": ${payload(100)}}]'`;
      return `select * from tock.save_steps(:lease::uuid, ('[{"id": "' || :id || ${step})::jsonb);`;
    };
    const saves = stepNames(steps).map(save);
    const script = [claim, ...saves, 'select * from tock.complete(:lease::uuid);', ''].join('\n');
    return { by: 'pgbench', script };
  },
  async counts(database) {
    const finished = `select (select coalesce(sum(runs), 0) from tock.leases where outcome = 'done')
      - (select count(*) from tock.results where state in ('failed', 'cancelled'))`;
    return {
      enqueued: await number(database, positions),
      finished: await number(database, finished),
    };
  },
  async check(database) {
    const { enqueued, finished } = await tock.counts(database);
    const { rows } = await database.client.query(`
      select (select count(*) from tock.runs)::float8 as runs,
        (select count(*) from (
          select after_position < lag(last_position) over (partition by stream order by after_position) as twice
          from tock.leases) l where twice)::float8 as twice`);
    const { runs, twice } = rows[0];
    if (twice > 0) throw new Error(`tock: ${twice} leases overlap.`);
    if (runs > enqueued || runs < enqueued - 1000 || finished > runs) {
      throw new Error(`tock: ${enqueued} positions used, ${runs} runs stored, ${finished} done.`);
    }
  },
};
