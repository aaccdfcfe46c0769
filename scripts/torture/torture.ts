import type { Calls } from './calls.ts';
import type { Ledger } from './ledger.ts';
import type { Stack } from './stack.ts';

/** What everybody has at hand. */
export type Torture = {
  stack: Stack;
  ledger: Ledger;
  calls: Calls;
  key: string;
  /** As the observer counted lately. */
  unfinished: number;
  /** False from when the work is to be wound up. */
  going: boolean;
};

/** Refusals that say no more than that somebody else was faster, or that the database is out of reach. */
const explained: Record<number, RegExp> = {
  0: /./,
  200: /./,
  503: /./,
  409: /./,
};

/** Notes what a call was answered; what nothing explains is a difference. */
export function heard(ledger: Ledger, verb: string, status: number, detail: string): void {
  ledger.count(status === 200 ? verb : `${verb}: ${status || 'no answer'}`);
  if (!explained[status])
    ledger.differ('an answer that nothing explains', verb, `${status} ${detail}`);
}
