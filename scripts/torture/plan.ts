import { dice } from '../soak/clock.ts';
import { harms } from './proxy.ts';

export const ways = ['client to workerd', 'workerd to PgBouncer', 'PgBouncer to server'] as const;

export const kills = [
  'kill -9 of the server',
  'kill -9 of a backend',
  'kill -9 of a process of the server',
  'kill -9 of PgBouncer',
  'kill -9 of workerd',
  'kill -9 of a worker',
] as const;

export const others = [
  'pool filled',
  'transaction held open',
  'snapshot held open',
  'epoch ended',
  'pg_cron stopped',
  'two migrators',
  'deadlock of rows',
  'deadlock of unique keys',
] as const;

const harmed = harms.flatMap((harm) => ways.map((way) => `${harm}, ${way}` as const));
export type Kind = (typeof kills)[number] | (typeof others)[number] | (typeof harmed)[number];

/** When, in milliseconds from the start, what, and a number for what is chosen in it. */
export type Fault = { at: number; kind: Kind; chance: number };

const workers: Kind[] = ['kill -9 of a worker', 'kill -9 of a backend'];

/** Every kind of fault in each round, in an order of its own; all of it follows from the seed. */
export function planned(seconds: number, seed: number): Fault[] {
  const random = dice(seed);
  const rounds = Math.max(1, Math.round(seconds / 50));
  const each = (seconds * 1000) / rounds;
  const faults: Fault[] = [];
  for (let round = 0; round < rounds; round++) {
    const kinds: Kind[] = [...kills, ...workers, ...others, ...harmed];
    for (let place = kinds.length - 1; place > 0; place--) {
      const other = random(place + 1);
      [kinds[place], kinds[other]] = [kinds[other] as Kind, kinds[place] as Kind];
    }
    const gap = each / kinds.length;
    kinds.forEach((kind, place) => {
      const at = Math.round(round * each + place * gap + random(Math.round(gap)));
      faults.push({ at, kind, chance: random(1_000_000) });
    });
  }
  return faults;
}
