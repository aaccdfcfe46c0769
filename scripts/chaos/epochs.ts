import type pg from 'pg';
import type { Chaos } from './chaos.ts';
import { met } from './observe.ts';
import { pause } from './random.ts';

type On = { query(text: string): Promise<{ rows: Record<string, unknown>[] }> };

/** Puts the sequence shortly before the end of the epoch in use: only from so far that no call can have come past it meanwhile. */
export async function nextEpoch({ ledger }: Chaos, on: On, left: number): Promise<boolean> {
  await on.query('select tock.rotate(p_ahead => 3, p_width => 4000000)');
  const { rows } = await on.query(
    `select setval('tock.positions', e.end_position - ${left}) from tock.positions s join tock.epochs e
     on s.last_value between e.first_position and e.end_position - 1500000`,
  );
  ledger.count('epochs ended', rows.length);
  return rows.length > 0;
}

/** Ends the epoch in use, so that every epoch with tasks in it is settled and audited. */
export async function auditAll(chaos: Chaos, on: pg.Client): Promise<void> {
  await nextEpoch(chaos, on, 300);
  await on.query("select count(nextval('tock.positions')) from generate_series(1, 400)");
  for (let round = 0; round < 60; round++) {
    for (const duty of ['rest', 'rotate', 'audit', 'retain']) {
      // pg_cron's job may be at the same one, or hold a lock: then the next round has it.
      await on.query(`select tock.${duty}()`).catch((error) => met(chaos, duty, error));
    }
    const { rows } = await on.query(
      `select e.number from tock.epochs e join tock.positions s on e.end_position <= s.last_value
       where e.audited_at is null`,
    );
    if (rows.length === 0) return;
    await pause(250);
  }
  const { rows } = await on.query('select to_jsonb(e) as e from tock.epochs e order by e.number');
  chaos.ledger.differ('an epoch is not settled and audited', 0, JSON.stringify(rows));
}

const oldest = `
  select e.number, (select count(*)::integer from tock.runs) as runs,
    (select max(a.number) - min(a.number) + 1 = count(*) from tock.epochs a) as whole
  from tock.epochs e join tock.positions s on e.end_position <= s.last_value order by e.number limit 1`;

/**
 * As if their retention had passed: the oldest epochs go one by one, while more than `keep` runs are stored, or an
 * epoch is missing between those that are left (a reader kept an earlier one; then the sentences would miss runs).
 */
export async function dropHistory({ ledger }: Chaos, on: pg.Client, keep: number): Promise<void> {
  for (let tries = 0; ; ) {
    const { rows } = await on.query(oldest);
    const [epoch] = rows;
    if (!epoch || (epoch.runs <= keep && epoch.whole)) return;
    const { number } = epoch;
    await on.query(
      "update tock.epochs set settled_at = now() - interval '11 years', drop_after = null where number = $1",
      [number],
    );
    for (let step = 0; step < 100; step++) {
      if ((await on.query('select tock.retain() as did')).rows[0].did === 0) break;
    }
    const { rowCount } = await on.query('select from tock.epochs where number = $1', [number]);
    if (rowCount === 0) {
      ledger.count('epochs dropped at the end');
      tries = 0;
    } else if (++tries > 100) {
      return ledger.differ('history is not dropped', 0, JSON.stringify(epoch));
    } else await pause(250);
  }
}
