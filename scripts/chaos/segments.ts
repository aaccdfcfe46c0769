import type pg from 'pg';
import type { Chaos } from './chaos.ts';
import { met } from './observe.ts';
import { pause } from './random.ts';

type On = { query(text: string): Promise<{ rows: Record<string, unknown>[] }> };

/** Puts the sequence shortly before the end of the segment in use: only from so far that no call can have come past it meanwhile. */
export async function nextSegment({ ledger }: Chaos, on: On, left: number): Promise<boolean> {
  await on.query('select tock.create_segments(p_ahead => 3, p_width => 4000000)');
  const { rows } = await on.query(
    `select setval('tock.positions', e.end_position - ${left}) from tock.positions s join tock.segments e
     on s.last_value between e.first_position and e.end_position - 1500000`,
  );
  ledger.count('segments ended', rows.length);
  return rows.length > 0;
}

/** Ends the segment in use, so that every segment with tasks in it is settled and audited. */
export async function auditAll(chaos: Chaos, on: pg.Client): Promise<void> {
  await nextSegment(chaos, on, 300);
  await on.query("select count(nextval('tock.positions')) from generate_series(1, 400)");
  for (let round = 0; round < 60; round++) {
    for (const maintenance_job of [
      'deactivate_streams',
      'create_segments',
      'verify_segments',
      'drop_expired_segments',
    ]) {
      // pg_cron's job may be at the same one, or hold a lock: then the next round has it.
      await on
        .query(`select tock.${maintenance_job}()`)
        .catch((error) => met(chaos, maintenance_job, error));
    }
    const { rows } = await on.query(
      `select e.number from tock.segments e join tock.positions s on e.end_position <= s.last_value
       where e.verified_at is null`,
    );
    if (rows.length === 0) return;
    await pause(250);
  }
  const { rows } = await on.query('select to_jsonb(e) as e from tock.segments e order by e.number');
  chaos.ledger.differ('a segment is not settled and audited', 0, JSON.stringify(rows));
}

const oldest = `
  select e.number, (select count(*)::integer from tock.runs) as runs,
    (select max(a.number) - min(a.number) + 1 = count(*) from tock.segments a) as whole
  from tock.segments e join tock.positions s on e.end_position <= s.last_value order by e.number limit 1`;

/**
 * As if their retention had passed: the oldest segments go one by one, while more than `keep` runs are stored, or an
 * segment is missing between those that are left (a reader kept an earlier one; then the sentences would miss runs).
 */
export async function dropHistory({ ledger }: Chaos, on: pg.Client, keep: number): Promise<void> {
  for (let tries = 0; ; ) {
    const { rows } = await on.query(oldest);
    const [segment] = rows;
    if (!segment || (segment.runs <= keep && segment.whole)) return;
    const { number } = segment;
    await on.query(
      "update tock.segments set closed_at = now() - interval '11 years', drop_after = null where number = $1",
      [number],
    );
    for (let step = 0; step < 100; step++) {
      if ((await on.query('select tock.drop_expired_segments() as did')).rows[0].did === 0) break;
    }
    const { rowCount } = await on.query('select from tock.segments where number = $1', [number]);
    if (rowCount === 0) {
      ledger.count('segments dropped at the end');
      tries = 0;
    } else if (++tries > 100) {
      return ledger.differ('history is not dropped', 0, JSON.stringify(segment));
    } else await pause(250);
  }
}
