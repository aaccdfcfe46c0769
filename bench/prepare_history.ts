import type pg from 'pg';
import { connected } from './cluster.ts';
import type { System, TestDatabase } from './types.ts';

/** By how much a database's sequence was moved: the number of positions without a task. */
const jumped = new WeakMap<TestDatabase, number>();

/** Tock in a database whose sequence was moved to end segments. Its counts leave out the positions without a task. */
export const jumping = (tock: System): System => ({
  ...tock,
  check: undefined,
  async counts(database) {
    const { enqueued, finished } = await tock.counts(database);
    return { enqueued: enqueued - (jumped.get(database) ?? 0), finished };
  },
});

/** Stores the number of positions without a task. No task may be ready or running at that time. */
export async function allFinished(tock: System, database: TestDatabase): Promise<void> {
  const { enqueued, finished } = await tock.counts(database);
  jumped.set(database, enqueued - finished);
}

/** Runs this many tasks from enqueue to completion, and all other ready tasks. */
async function lives(session: pg.Client, runs: number): Promise<void> {
  await session.query({
    name: 'enqueue',
    text: `select cardinality(tock.enqueue('history', (select jsonb_agg(jsonb_build_object('payload',
      jsonb_build_object('n', n, 'text', repeat('x', 70)))) from generate_series(1, $1::integer) n)))`,
    values: [runs],
  });
  const text = `select max(lease::text) as lease, count(*)::integer as runs
    from tock.claim('history', p_limit => 10000, p_own_transaction => true)`;
  for (;;) {
    const { rows } = await session.query({ name: 'claim', text });
    if (rows[0].runs === 0) return;
    await session.query('select * from tock.complete($1)', [rows[0].lease]);
  }
}

/**
 * Fills a new database with `segments` segments and `runs` runs, enqueued, claimed and completed by Tock's own calls,
 * then closed and verified. The next segment is wide.
 */
export async function live(
  database: TestDatabase,
  runs: number,
  segments: number,
): Promise<string> {
  const { client } = database;
  const value = async (text: string, values: unknown[] = []) =>
    Object.values((await client.query(text, values)).rows[0] ?? {})[0];
  const each = Math.ceil(runs / segments);
  const sessions = [await connected(database.url), await connected(database.url)];
  for (const session of sessions) await session.query('set synchronous_commit = off');
  // The sequence leaves the segments that were created with the schema, which are few and wide.
  const pass = () =>
    client.query(`select setval('tock.positions',
      (select end_position from tock.segments where number = tock.newest_segment()))`);
  const made = Number(await value('select max(number) from tock.segments'));
  for (let more = segments - made; more > 0; more -= 10) {
    const ahead = 'max(number) - tock.newest_segment() + $1';
    const text = `select tock.create_segments(p_ahead => ${ahead}, p_width => $2) from tock.segments`;
    await client.query(text, [Math.min(10, more), each + 100_000]);
  }
  await client.query(
    'select tock.create_segments(p_ahead => $1 - tock.newest_segment(), p_width => 134217728)',
    [segments + 2],
  );
  for (let segment = 0; segment < segments; segment++) {
    await Promise.all(sessions.map((session) => lives(session, Math.ceil(each / sessions.length))));
    await pass();
    await client.query('select tock.create_segments()');
  }
  for (const session of sessions) await session.end();
  const settled = 'select count(*) from tock.segments where closed_at is not null';
  for (let before = -1; ; ) {
    await client.query('select tock.deactivate_streams(), tock.create_segments()');
    const now = Number(await value(settled));
    if (now === before) break;
    before = now;
  }
  while (Number(await value('select tock.verify_segments()')) > 0);
  await client.query('vacuum analyze');
  const reports = Number(
    await value("select count(*) from tock.reports where kind = 'verify_segments'"),
  );
  if (reports > 0) throw new Error(`Verification reported ${reports} problems in the history.`);
  return String(
    await value(
      `select format('%s runs, %s segments, settled %s', (select count(*) from tock.runs), count(*), count(closed_at))
       from tock.segments`,
    ),
  );
}
