import { pause, type Random } from '../random.ts';
import type { Args } from './spelled.ts';
import type { Verb } from './verbs.ts';

/** An answer. `status` is as in HTTP (SQLSTATE TK404 is 404). `undone` means that the call certainly had no effect. */
// biome-ignore lint/suspicious/noExplicitAny: the load reads an answer field by field
export type Answer = { status: number; body: any; undone?: boolean };

/** Called for each attempt with its status, or with `lost` if no answer came. */
export type OnOutcome = (verb: string, outcome: string, detail: string) => void;

/** A transaction around a call, which stays open for `hold` milliseconds. Only the SQL driver has it. */
export type Transaction = {
  isolation?: 'repeatable read';
  hold: number;
  end: 'commit' | 'rollback';
};

/** One client's connection to Tock: every verb, over HTTP or in SQL. */
export type Driver = {
  transactions: boolean;
  /** Makes one attempt. Returns null if no answer came: then it is unknown whether the call had an effect. */
  attempt(verb: Verb, args: Args, transaction?: Transaction): Promise<Answer | null>;
  close(): Promise<void>;
};

/** Each client has its own random numbers. */
export type Client = { driver: Driver; random: Random };

/** True for an answer that faults may cause. Any other answer is a difference. */
export const explained = (verb: string, outcome: string) =>
  /^(2\d\d|404|409|429|503.*|lost.*)$/.test(outcome) ||
  (verb === 'use key' && /^40[13]$/.test(outcome));

/** A call that is repeated must be answered within this many seconds, despite all faults and load. */
export const RETRY_SECONDS = 600;

/**
 * Repeats a call with a request id or a lease until it is answered. Returns null if no answer comes in `seconds`. With
 * `isNew` no earlier call had the request id.
 */
export async function call(
  { driver, random }: Client,
  verb: Verb,
  args: Args,
  seconds = 60,
): Promise<Answer | null> {
  const deadline = performance.now() + seconds * 1000;
  for (let tries = 1; ; tries++) {
    const again = tries > 1 && args.isNew ? { ...args, isNew: false } : args;
    const answer = await driver.attempt(verb, again);
    if (answer && answer.status !== 503 && answer.status !== 429) return answer;
    if (performance.now() > deadline) return null;
    await pause(50 + random(200));
  }
}
