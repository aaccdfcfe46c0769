import type pg from 'pg';
import type { Chaos } from './chaos.ts';
import { recordError } from './observe.ts';
import { pause } from './random.ts';

type On = { query(text: string): Promise<{ rows: Record<string, unknown>[] }> };

/**
 * Moves the sequence close to the end of the current segment. It does so only from a distance that no concurrent call
 * can cross.
 */
export async function nextSegment(
  { ledger }: Chaos,
  client: On,
  remaining: number,
): Promise<boolean> {
  await client.query('select tock.create_segments(p_ahead => 3, p_width => 4000000)');
  const { rows } = await client.query(
    `select setval('tock.positions', e.end_position - ${remaining}) from tock.positions s join tock.segments e
     on s.last_value between e.first_position and e.end_position - 1500000`,
  );
  ledger.count('segments ended', rows.length);
  return rows.length > 0;
}

/** Ends the current segment, so that every segment with tasks is closed and verified. */
export async function verifyAll(chaos: Chaos, client: pg.Client): Promise<void> {
  await nextSegment(chaos, client, 300);
  await client.query("select count(nextval('tock.positions')) from generate_series(1, 400)");
  for (let round = 0; round < 60; round++) {
    for (const maintenance_job of [
      'deactivate_streams',
      'create_segments',
      'verify_segments',
      'drop_expired_segments',
    ]) {
      // pg_cron's job may process the same segment or hold a lock. Then the next round gets it.
      await client
        .query(`select tock.${maintenance_job}()`)
        .catch((error) => recordError(chaos, maintenance_job, error));
    }
    const { rows } = await client.query(
      `select e.number from tock.segments e join tock.positions s on e.end_position <= s.last_value
       where e.verified_at is null`,
    );
    if (rows.length === 0) return;
    await pause(250);
  }
  const { rows } = await client.query(
    'select to_jsonb(e) as e from tock.segments e order by e.number',
  );
  chaos.ledger.differ('a segment is not closed and verified', 0, JSON.stringify(rows));
}

const oldest = `
  select e.number, (select count(*)::integer from tock.runs) as runs,
    (select max(a.number) - min(a.number) + 1 = count(*) from tock.segments a) as whole
  from tock.segments e join tock.positions s on e.end_position <= s.last_value order by e.number limit 1`;

/**
 * Drops the oldest segments one by one, regardless of their retention, until at most `keep` runs are stored and the
 * remaining segments have no gap. A gap exists if a reader kept an earlier segment; the checks would then miss runs.
 */
export async function dropHistory(
  { ledger }: Chaos,
  client: pg.Client,
  keep: number,
): Promise<void> {
  for (let tries = 0; ; ) {
    const { rows } = await client.query(oldest);
    const [segment] = rows;
    if (!segment || (segment.runs <= keep && segment.whole)) return;
    const { number } = segment;
    await client.query(
      "update tock.segments set closed_at = now() - interval '11 years', drop_after = null where number = $1",
      [number],
    );
    for (let step = 0; step < 100; step++) {
      if ((await client.query('select tock.drop_expired_segments() as did')).rows[0].did === 0)
        break;
    }
    const { rowCount } = await client.query('select from tock.segments where number = $1', [
      number,
    ]);
    if (rowCount === 0) {
      ledger.count('segments dropped at the end');
      tries = 0;
    } else if (++tries > 100) {
      return ledger.differ('history is not dropped', 0, JSON.stringify(segment));
    } else await pause(250);
  }
}
