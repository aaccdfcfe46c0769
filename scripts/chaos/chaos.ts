import type { Driver } from './drivers/driver.ts';
import type { Journal } from './journal.ts';
import { pause } from './random.ts';
import type { ChaosStack } from './stack.ts';

export type Ledger = {
  count(what: string, by?: number): void;
  differ(kind: string, task: string | number, detail: string): void;
};

/** What every part of the harness uses. */
export type Chaos = {
  stack: ChaosStack;
  journal: Journal;
  /** Counts events and records differences. */
  ledger: Ledger;
  /** The driver of the client with this number. */
  open(client: number): Driver;
  /** Reserves task numbers; returns the first. */
  reserve(count: number): number;
  /** The number of unfinished tasks, at most half a second old. */
  unfinished: number;
  /** False once the run is ending. */
  running: boolean;
  print(text: string): void;
};

/** Pauses; the end of the run ends the pause too. */
export async function pauseWhileRunning(chaos: Chaos, milliseconds: number): Promise<void> {
  const deadline = performance.now() + milliseconds;
  while (chaos.running && performance.now() < deadline) await pause(100);
}
