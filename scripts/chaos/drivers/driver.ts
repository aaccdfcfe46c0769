import { pause, type Random } from '../random.ts';
import type { Args, Verb } from './verbs.ts';

/** The status is that of HTTP; SQLSTATE TK404 is 404. `undone`: it is certain that the call did nothing. */
// biome-ignore lint/suspicious/noExplicitAny: the load reads an answer field by field
export type Answer = { status: number; body: any; undone?: boolean };

/** How each attempt went: its status, or `lost` where no answer came. */
export type Heard = (verb: string, outcome: string, detail: string) => void;

/** The call is made in a transaction that stays open for `hold` milliseconds. Only SQL has it. */
export type Transaction = {
  isolation?: 'repeatable read';
  hold: number;
  end: 'commit' | 'rollback';
};

/** One client's way to Tock: every verb, over HTTP or in SQL. */
export type Driver = {
  transactions: boolean;
  /** One attempt. Null: no answer came, so the call may have been done or not. */
  attempt(verb: Verb, args: Args, transaction?: Transaction): Promise<Answer | null>;
  close(): Promise<void>;
};

/** A client decides at random by numbers of its own. */
export type Client = { driver: Driver; random: Random };

/** What a call may be answered while things are killed, contended or overtaken. Anything else is a difference. */
export const explained = (verb: string, outcome: string) =>
  /^(2\d\d|404|409|429|503.*|lost.*)$/.test(outcome) ||
  (verb === 'use key' && /^40[13]$/.test(outcome));

/** Seconds after which a repeated call must have been answered, whatever is broken and however busy the machine is. */
export const patience = 600;

/** Repeats a call with a request id or a lease until it is answered. Null when `seconds` are over: its fate is unknown. */
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
