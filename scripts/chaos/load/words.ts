import { writeSync } from 'node:fs';
import type { Claim, End, Execution, Repeat, StepFact, TaskRequest } from '../journal.ts';

export type Word =
  | ['claimed', Claim]
  | ['repeated', Repeat]
  | ['requested', TaskRequest]
  | ['settled', answered: number, numbers: number[]]
  | ['ending', End]
  | ['ended', lease: string, sent: number, acknowledged: number, refused: string[]]
  | ['executed', Execution]
  | ['stepped', StepFact]
  | ['heard', verb: string, outcome: string, detail: string]
  | ['differ', kind: string, task: string, detail: string];

// writeSync() returns after the whole line is written, so a kill cannot lose it.
export const send = (word: Word) => writeSync(1, `${JSON.stringify(word)}\n`);
export const onOutcome = (verb: string, outcome: string, detail: string) =>
  send(['heard', verb, outcome, outcome.startsWith('2') ? '' : detail]);
