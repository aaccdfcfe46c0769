import type pg from 'pg';
import { connected } from './cluster.ts';
import type { Place, System } from './types.ts';

/** How far a place's sequence has jumped: positions that no task has. */
const jumped = new WeakMap<Place, number>();

/** Tock in a place whose segments were ended by moving the sequence: what it counts leaves the jumps out. */
export const jumping = (tock: System): System => ({
  ...tock,
  check: undefined,
  async counts(place) {
    const { enqueued, finished } = await tock.counts(place);
    return { enqueued: enqueued - (jumped.get(place) ?? 0), finished };
  },
});

/** To be called when nothing is ready. */
export async function allFinished(tock: System, place: Place): Promise<void> {
  const { enqueued, finished } = await tock.counts(place);
  jumped.set(place, enqueued - finished);
}

/** So many tasks from their enqueueing to their end, and whatever else is ready. */
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
 * Lets a new database come through `segments` segments with `runs` runs in them, enqueued, claimed and
 * completed by Tock's own calls, settled and audited; the segment after them is a wide one.
 */
export async function live(place: Place, runs: number, segments: number): Promise<string> {
  const { client } = place;
  const value = async (text: string, values: unknown[] = []) =>
    Object.values((await client.query(text, values)).rows[0] ?? {})[0];
  const each = Math.ceil(runs / segments);
  const sessions = [await connected(place.url), await connected(place.url)];
  for (const one of sessions) await one.query('set synchronous_commit = off');
  // on from the first segment's end; those that were made with the schema are few and wide
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
    await Promise.all(sessions.map((one) => lives(one, Math.ceil(each / sessions.length))));
    await pass();
    await client.query('select tock.create_segments()');
  }
  for (const one of sessions) await one.end();
  const settled = 'select count(*) from tock.segments where closed_at is not null';
  for (let before = -1; ; ) {
    await client.query('select tock.deactivate_streams(), tock.create_segments()');
    const now = Number(await value(settled));
    if (now === before) break;
    before = now;
  }
  while (Number(await value('select tock.verify_segments()')) > 0);
  await client.query('vacuum analyze');
  const reports = Number(await value("select count(*) from tock.reports where kind = 'verify_segments'"));
  if (reports > 0) throw new Error(`The audit reported ${reports} things about the history.`);
  return String(
    await value(
      `select format('%s runs, %s segments, settled %s', (select count(*) from tock.runs), count(*), count(closed_at))
       from tock.segments`,
    ),
  );
}
