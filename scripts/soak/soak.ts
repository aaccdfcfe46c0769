import type pg from 'pg';
import { pause, type Random } from './clock.ts';
import { codeOf, expected } from './codes.ts';
import type { Ledger } from './ledger.ts';
import type { Stack } from './stack.ts';

export const queue = 'soak';

/** Where things are counted, and differences found. */
export type Tally = Pick<Ledger, 'count' | 'differ'>;

/** What the soak and the torture share. */
export type Ground = {
  stack: Stack;
  ledger: Tally;
  /** Faults and epochs come once a round: a minute, less in a test. */
  roundSeconds: number;
  say(line: string): void;
  /** False from when the work is to be wound up. */
  going: boolean;
};

/** What everybody in the soak has at hand. */
export type Soak = Ground & {
  ledger: Ledger;
  /** Dumps what is stored beside the journal. */
  keepState(): Promise<void>;
};

/** Notes an error; one that nothing explains is a difference. */
export function met(ledger: Tally, verb: string, error: unknown): string {
  const code = codeOf(error);
  ledger.count(`${verb} refused: ${code}`);
  if (!expected.test(code)) {
    const { message, stack = '', where = '' } = error as Error & { where?: string };
    ledger.differ(
      'an error that nothing explains',
      0,
      `${verb}: ${code} ${message} ${where} ${stack.split('\n')[1] ?? ''}`,
    );
  }
  return code;
}

export type Step = (on: pg.Client, random: Random) => Promise<unknown>;

/** Makes steps until the soak ends, connecting anew whenever the connection has gone. */
export async function going(
  soak: Ground,
  verb: string,
  random: Random,
  step: Step,
  url?: string,
): Promise<void> {
  let on: pg.Client | null = null;
  while (soak.going) {
    try {
      on ??= await soak.stack.connect(url);
      await step(on, random);
    } catch (error) {
      const code = met(soak.ledger, verb, error);
      const kept = on !== null && /^[0-9T]/.test(code) && !/^(08|57P)/.test(code);
      if (
        !kept ||
        !(await on?.query('rollback').then(
          () => true,
          () => false,
        ))
      ) {
        void on?.end().catch(() => {});
        on = null;
      }
      await pause(50 + random(100));
    }
  }
  await on?.end().catch(() => {});
}
