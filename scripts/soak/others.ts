import { dice, now, pause } from './clock.ts';
import { type Ground, going, met, type Soak } from './soak.ts';

/** The clock beside pg_cron (which may know minutes only), and the forced end of epochs. */
export function startClock(soak: Soak): Promise<void>[] {
  const { ledger } = soak;
  const tick = going(soak, 'tick', dice(1), async (on) => {
    await on.query('select tock.tick()');
    ledger.count('tick');
    await pause(1000);
  });
  return [tick, eachRound(soak)];
}

/** By a connection of its own each time: an older one seldom outlives a round. */
async function eachRound(soak: Soak): Promise<void> {
  const { ledger, stack, roundSeconds } = soak;
  let due = now() + roundSeconds * 900;
  while (soak.going) {
    await pause(100);
    if (now() < due) continue;
    const on = await stack.connect().catch(() => null);
    const ended = on && (await nextEpoch(soak, on).catch((error) => met(ledger, 'rotate', error)));
    await on?.end().catch(() => {});
    if (ended === true) due = now() + roundSeconds * 1000;
  }
}

type Client = { query(text: string): Promise<{ rows: Record<string, unknown>[] }> };

/**
 * Puts the sequence shortly before the end of the epoch in use. Only from so far that no call can
 * have come past it meanwhile.
 */
export async function nextEpoch(soak: Ground, on: Client, left = 300): Promise<boolean> {
  await on.query('select tock.rotate(p_ahead => 3, p_width => 4000000)');
  const { rows } = await on.query(
    `select setval('tock.positions', e.end_position - ${left}) from tock.positions s join tock.epochs e
     on s.last_value between e.first_position and e.end_position - 1500000`,
  );
  soak.ledger.count('epochs ended', rows.length);
  return rows.length > 0;
}

/** A pause that the end of the soak ends. */
export async function whileGoing(soak: Ground, milliseconds: number): Promise<void> {
  const until = now() + milliseconds;
  while (soak.going && now() < until) await pause(100);
}

const reads = ['tock.runs', 'tock.streams', 'tock.leases', 'tock.waiting'];

/** Readers that keep a snapshot: a transaction held open, and a dump. */
export function startReaders(soak: Ground, seed: number): Promise<void>[] {
  const { ledger, roundSeconds, stack } = soak;
  const holder = going(soak, 'hold', dice(seed), async (on, random) => {
    await on.query('begin isolation level repeatable read');
    await on.query(`select count(*) from ${reads[random(reads.length)]}`);
    await whileGoing(soak, random(roundSeconds * 700));
    await on.query('rollback');
    ledger.count('snapshots held');
    await whileGoing(soak, roundSeconds * 500);
  });
  const dumper = going(soak, 'dump', dice(seed + 1), async () => {
    await whileGoing(soak, roundSeconds * 1300);
    if (!soak.going) return;
    await stack.host.run([
      `${stack.host.bin}/pg_dump`,
      '--schema=tock',
      '--file=/dev/null',
      stack.ownerUrl,
    ]);
    ledger.count('dumps');
  });
  return [holder, dumper];
}
