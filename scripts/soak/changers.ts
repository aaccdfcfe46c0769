import type pg from 'pg';
import { dice, now, pause, type Random } from './clock.ts';
import { told } from './ledger.ts';
import { going, type Soak } from './soak.ts';

type Answer = { id: string; state: string; changed: boolean };

export function startChangers(soak: Soak, count: number, seed: number): Promise<void>[] {
  const { ledger } = soak;
  const versions = new Map<number, number>();

  /** Unfinished tasks among the latest; each changer has its own, so that it knows what came last. */
  function victims(random: Random, mine: number, many: number): number[] {
    const found = new Set<number>();
    const newest = ledger.next() - 1;
    for (let attempt = 0; attempt < many * 10 && found.size < many; attempt++) {
      const n = newest - random(Math.min(newest, 20_000));
      if (n % count === mine && ledger.open.has(n)) found.add(n);
    }
    return [...found];
  }

  async function change(on: pg.Client, random: Random, mine: number): Promise<void> {
    const way = random(5);
    const numbers = victims(random, mine, way === 4 ? 1 : 1 + random(20));
    if (numbers.length === 0) return pause(200);
    const byId = new Map(numbers.map((n) => [ledger.idOf(n), n]));
    const [n = 0] = numbers;
    const version = (versions.get(n) ?? 0) + 1;
    if (way === 4) versions.set(n, version);
    const ids = [...byId.keys()];
    const calls: [string, string, unknown[]][] = [
      ['cancel', 'select id, state, changed from tock.cancel($1)', [ids]],
      [
        'reprioritize',
        'select id, state, changed from tock.reprioritize($1, $2)',
        [ids, random(10)],
      ],
      [
        'reschedule',
        'select id, state, changed from tock.reschedule($1, clock_timestamp() + $2 * interval $$1 ms$$)',
        [ids, random(3000) - 500],
      ],
      [
        'reprioritize',
        'select id, state, changed from tock.reprioritize($1, $2)',
        [ids, 4 + random(3)],
      ],
      [
        'change',
        'select id, state, changed from tock.change($1, $2)',
        [ids, { payload: { n, v: version } }],
      ],
    ];
    const [verb, text, values] = calls[way] as (typeof calls)[number];
    const open = random(4) === 0;
    if (open) await on.query('begin');
    const { rows } = await on.query<Answer>(text, values);
    if (open) {
      await pause(random(8) === 0 ? random(5000) : random(300));
      const end = random(3) === 0 ? 'rollback' : 'commit';
      await on.query(end);
      if (end === 'rollback') return ledger.count(`${verb}, rolled back`);
    }
    const at = now();
    for (const { id, state, changed } of rows) {
      const task = byId.get(id) ?? 0;
      if (task === 0) ledger.differ('a change answered for another task', n, `${verb}: ${id}`);
      if (verb === 'cancel' && state === 'cancelled' && changed) ledger.cancelled(at, task);
      if (verb === 'change' && changed && (state === 'ready' || state === 'waiting')) {
        ledger.changed(at, task, version);
      }
    }
    const known = new Set(rows.map((row) => row.id));
    for (const [id, task] of byId) {
      // One that had ended meanwhile may be history already.
      if (!known.has(id) && !ledger.is(task, told.done | told.ended)) {
        ledger.count('changes that found no task');
      }
    }
    ledger.count(verb, rows.filter((row) => row.changed).length);
    await pause(random(250));
  }

  return Array.from({ length: count }, (_, mine) => {
    const url = mine % 2 ? soak.stack.pooledUrl : undefined;
    const step = (on: pg.Client, random: Random) => change(on, random, mine);
    return going(soak, 'change', dice(seed + mine), step, url);
  });
}
