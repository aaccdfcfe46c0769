import pg from 'pg';
import { migrate } from '../../migrate/migrate.ts';
import { listed, payload } from '../payload.ts';
import type { Place, Shape, System } from '../types.ts';

/** The queue's name in SQL of a pgbench script, in which :queue is set where there are several. */
const queueOf = ({ queues }: Shape) => (queues === 1 ? "'q'" : "'q' || :queue::text");
const setQueue = ({ queues }: Shape) => (queues === 1 ? '' : `\\set queue random(1, ${queues})\n`);

/** The names of a shape's queues. */
export const queueNames = ({ queues }: Shape) =>
  queues === 1 ? ['q'] : Array.from({ length: queues }, (_, n) => `q${n + 1}`);

/** From eight connections at once, as that many writers have a stream each. */
async function fill(place: Place, tasks: number, shape: Shape): Promise<void> {
  const names = queueNames(shape);
  const batch = Math.max(1, Math.min(1000, Math.ceil(tasks / names.length / 4)));
  const task = `{"payload": ${payload(shape.bytes)}}`;
  const text = `[${Array(batch).fill(task).join(',')}]`;
  let calls = Math.ceil(tasks / batch);
  const writer = async () => {
    const client = new pg.Client({ connectionString: place.url });
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

async function number(place: Place, sql: string): Promise<number> {
  return Number(Object.values((await place.client.query(sql)).rows[0])[0]);
}

// Positions: the sequence hands out one a task, and one whenever a stream begins or wakes. Counting runs
// would read all of them before each window, and so set their hint bits outside of it.
const positions = 'select last_value from tock.positions';

export const tock: System = {
  name: 'tock',
  version: 'this checkout',
  settings: [
    'enqueue: one call of tock.enqueue with JSON text; all ids come back',
    'claim with p_own_transaction (commits asynchronously), all payloads to the client, then complete by the lease (commits synchronously): two statements',
    'no pg_cron: tick() is called every five seconds of its windows instead',
  ],
  lacks: [],
  maintenance_job: { sql: 'select tock.tick()', every: 5 },
  // TOCK_SQL_DIRECTORY: another sql/ to compare with
  prepare: async (place) =>
    void (await migrate(place.url, { directory: process.env.TOCK_SQL_DIRECTORY })),
  fill,
  enqueue(shape) {
    const { set, text } = listed(shape.batch, `{"payload": ${payload(shape.bytes)}}`, ['[', ']']);
    const call = `select tock.enqueue(${queueOf(shape)}, ${text}::jsonb);`;
    return { by: 'pgbench', script: `${setQueue(shape)}${set}\n${call}\n` };
  },
  cycle(shape) {
    const args = `p_queue => ${queueOf(shape)}, p_limit => ${shape.batch}, p_own_transaction => true`;
    // after a claim that found nothing, :lease is the one before, and completing that again adds nothing
    const claim = `select lease, id, payload from tock.claim(${args}) \\aset`;
    const complete = 'select * from tock.complete(:lease::uuid);';
    return { by: 'pgbench', script: `${setQueue(shape)}${claim}\n${complete}\n` };
  },
  async counts(place) {
    const finished = `select (select coalesce(sum(runs), 0) from tock.leases where outcome = 'done')
      - (select count(*) from tock.results where state in ('failed', 'cancelled'))`;
    return { enqueued: await number(place, positions), finished: await number(place, finished) };
  },
  async check(place) {
    const { enqueued, finished } = await tock.counts(place);
    const { rows } = await place.client.query(`
      select (select count(*) from tock.runs)::float8 as runs,
        (select count(*) from (
          select after_position < lag(last_position) over (partition by stream order by after_position) as twice
          from tock.leases) l where twice)::float8 as twice`);
    const { runs, twice } = rows[0];
    if (twice > 0) throw new Error(`tock: ${twice} leases overlap.`);
    if (runs > enqueued || runs < enqueued - 1000 || finished > runs) {
      throw new Error(`tock: ${enqueued} positions drawn, ${runs} runs there, ${finished} done.`);
    }
  },
};
