import type { Driver } from './drivers/driver.ts';
import type { Journal } from './journal.ts';
import { pause } from './random.ts';
import type { ChaosStack } from './stack.ts';

export type Ledger = {
  count(what: string, by?: number): void;
  differ(kind: string, task: string | number, detail: string): void;
};

/** What every part of the harness has at hand. */
export type Chaos = {
  stack: ChaosStack;
  journal: Journal;
  /** Where things are counted, and differences are noted. */
  ledger: Ledger;
  /** A driver for the client of this number. */
  open(client: number): Driver;
  /** The first of so many new numbers for tasks. */
  take(many: number): number;
  /** How many tasks have not ended, as of half a second ago. */
  unfinished: number;
  /** False once the work is to be wound up. */
  going: boolean;
  say(line: string): void;
};

/** A pause that ends with the work. */
export async function whileGoing(chaos: Chaos, milliseconds: number): Promise<void> {
  const until = performance.now() + milliseconds;
  while (chaos.going && performance.now() < until) await pause(100);
}
