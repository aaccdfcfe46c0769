import { pause, type Random } from '../random.ts';
import type { Args, Verb } from './verbs.ts';

/** The status as in HTTP; SQLSTATE TK404 is 404. `undone` means that the call certainly did nothing. */
// biome-ignore lint/suspicious/noExplicitAny: the load reads an answer field by field
export type Answer = { status: number; body: any; undone?: boolean };

/** Called for each attempt with its status, or `lost` if no answer came. */
export type OnOutcome = (verb: string, outcome: string, detail: string) => void;

/** The call runs in a transaction that stays open for `hold` milliseconds; only in SQL. */
export type Transaction = {
  isolation?: 'repeatable read';
  hold: number;
  end: 'commit' | 'rollback';
};

/** One client's connection to Tock: every verb, over HTTP or in SQL. */
export type Driver = {
  transactions: boolean;
  /** One attempt. Null if no answer came, so the call may have been done or not. */
  attempt(verb: Verb, args: Args, transaction?: Transaction): Promise<Answer | null>;
  close(): Promise<void>;
};

/** Each client has its own random numbers. */
export type Client = { driver: Driver; random: Random };

/** Answers that are allowed while faults happen. Any other answer is a difference. */
export const explained = (verb: string, outcome: string) =>
  /^(2\d\d|404|409|429|503.*|lost.*)$/.test(outcome) ||
  (verb === 'use key' && /^40[13]$/.test(outcome));

/** A repeated call must be answered within this many seconds, despite all faults and load. */
export const RETRY_SECONDS = 600;

/** Repeats a call with a request id or a lease until it is answered. Null after `seconds`: the outcome is unknown. */
export async function call(
  { driver, random }: Client,
  verb: Verb,
  args: Args,
  seconds = 60,
): Promise<Answer | null> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await driver.attempt(verb, args);
    if (answer && answer.status !== 503 && answer.status !== 429) return answer;
    if (performance.now() > deadline) return null;
    await pause(50 + random(200));
  }
}
