import type pg from 'pg';
import { connected } from './cluster.ts';
import type { Place, System } from './types.ts';

/** How far a place's sequence has jumped: positions that no task has. */
const jumped = new WeakMap<Place, number>();

/** Tock in a place whose epochs were ended by moving the sequence: what it counts leaves the jumps out. */
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
    from tock.claim('history', p_limit => 10000, p_alone => true)`;
  for (;;) {
    const { rows } = await session.query({ name: 'claim', text });
    if (rows[0].runs === 0) return;
    await session.query('select * from tock.complete($1)', [rows[0].lease]);
  }
}

/**
 * Lets a new database come through `epochs` epochs with `runs` runs in them, enqueued, claimed and
 * completed by Tock's own calls, settled and audited; the epoch after them is a wide one.
 */
export async function live(place: Place, runs: number, epochs: number): Promise<string> {
  const { client } = place;
  const value = async (text: string, values: unknown[] = []) =>
    Object.values((await client.query(text, values)).rows[0] ?? {})[0];
  const each = Math.ceil(runs / epochs);
  const sessions = [await connected(place.url), await connected(place.url)];
  for (const one of sessions) await one.query('set synchronous_commit = off');
  // on from the first epoch's end; those that were made with the schema are few and wide
  const pass = () =>
    client.query(`select setval('tock.positions',
      (select end_position from tock.epochs where number = tock.newest_epoch()))`);
  const made = Number(await value('select max(number) from tock.epochs'));
  for (let more = epochs - made; more > 0; more -= 10) {
    const ahead = 'max(number) - tock.newest_epoch() + $1';
    const text = `select tock.rotate(p_ahead => ${ahead}, p_width => $2) from tock.epochs`;
    await client.query(text, [Math.min(10, more), each + 100_000]);
  }
  await client.query(
    'select tock.rotate(p_ahead => $1 - tock.newest_epoch(), p_width => 134217728)',
    [epochs + 2],
  );
  for (let epoch = 0; epoch < epochs; epoch++) {
    await Promise.all(sessions.map((one) => lives(one, Math.ceil(each / sessions.length))));
    await pass();
    await client.query('select tock.rotate()');
  }
  for (const one of sessions) await one.end();
  const settled = 'select count(*) from tock.epochs where settled_at is not null';
  for (let before = -1; ; ) {
    await client.query('select tock.rest(), tock.rotate()');
    const now = Number(await value(settled));
    if (now === before) break;
    before = now;
  }
  while (Number(await value('select tock.audit()')) > 0);
  await client.query('vacuum analyze');
  const reports = Number(await value("select count(*) from tock.reports where kind = 'audit'"));
  if (reports > 0) throw new Error(`The audit reported ${reports} things about the history.`);
  return String(
    await value(
      `select format('%s runs, %s epochs, settled %s', (select count(*) from tock.runs), count(*), count(settled_at))
       from tock.epochs`,
    ),
  );
}
