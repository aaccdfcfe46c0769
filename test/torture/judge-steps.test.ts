import { expect, test } from 'vitest';
import { checkClaims } from '../../scripts/chaos/checker/claims.ts';
import {
  type Execution,
  type Journal,
  openJournal,
  type Signal,
  type StepFact,
} from '../../scripts/chaos/journal.ts';

// The journals here are made up, one for each kind of loss: a task whose step was saved at 1100, by a run claimed at 1000.

const task = '1';
const later = String(8 << 20);
const ids = { task, run: task, name: 'a' };

const fact = (more: Partial<StepFact> = {}): StepFact => ({
  ...ids,
  sent: 1090,
  answered: 1100,
  state: 'done',
  result: 'r',
  read: false,
  ...more,
});
const execution = (more: Partial<Execution> = {}): Execution => ({
  ...ids,
  since: 1000,
  at: 1050,
  ...more,
});
const signal = (s: number, sent: number, more: Partial<Signal> = {}): Signal => ({
  s,
  event: 'e',
  sent,
  acknowledged: sent + 10,
  accepted: s === 1,
  woken: 0,
  ...more,
});
const wait = (more: Partial<StepFact> = {}) =>
  fact({ name: 'w', event: 'e', result: { s: 1 }, ...more });

function claimed(journal: Journal, lease: string, run: string, sent: number): void {
  const runs = [{ id: task, run, attempt: 1, n: 1, version: 0 }];
  journal.claimed({ sent, answered: sent + 10, queue: 'steps', lease, until: sent + 900, runs });
}

/** The differences in a journal of two runs, claimed at 1000 and 2000, with these entries. */
function judged(entries: {
  steps?: StepFact[];
  executions?: Execution[];
  signals?: Signal[];
  crash?: number;
  /** The state of child 7, and when its completion was sent. */
  child?: { state: string; completed: number };
}): string[] {
  const journal = openJournal();
  claimed(journal, 'one', task, 1000);
  claimed(journal, 'two', later, 2000);
  const { steps = [], executions = [], signals = [], crash, child } = entries;
  for (const each of executions) journal.executed(each);
  for (const each of steps) journal.stepped(each);
  for (const each of signals) journal.signalling(each);
  if (crash) journal.crashed(crash);
  if (child) {
    const runs = [{ id: '9', run: '9', attempt: 1, n: 7, version: 0 }];
    journal.ending({ verb: 'complete', lease: 'three', sent: child.completed, runs, final: [] });
    journal.seen({ id: '9', n: 7, state: child.state, rerunOf: null });
  }
  const differences = checkClaims(journal, { limits: {}, caps: {}, rates: {} });
  return [...new Set(differences.map(({ kind }) => kind))];
}

test('nothing is found in two runs of which the second gets what the first has saved', () => {
  const read = fact({ run: later, sent: 2010, answered: 2010, read: true });
  expect(judged({ executions: [execution()], steps: [fact(), read] })).toEqual([]);
});

test('a function that runs after its checkpoint is found, but not that of a worker whose lease has ended', () => {
  const saved = fact({ run: later, sent: 2090, answered: 2100 });
  expect(judged({ steps: [saved], executions: [execution({ at: 2200 })] })).toEqual([]);
  const again = { run: later, since: 2000, at: 2050 };
  const steps = [fact()];
  const found = ['a step ran after its checkpoint'];
  expect(judged({ steps, executions: [execution(again)] })).toEqual(found);
  expect(judged({ steps, executions: [execution({ at: 1150 })] })).toEqual(found);
  const retried = [fact({ state: 'retrying', due: 1150 })];
  expect(judged({ steps: retried, executions: [execution(again)] })).toEqual([]);
});

test('a checkpoint by a stale lease is found, unless a crash undid the later claim', () => {
  const steps = [fact({ sent: 2100, answered: 2110 })];
  expect(judged({ steps })).toEqual(['a checkpoint by a stale lease']);
  expect(judged({ steps, crash: 2050 })).toEqual([]);
  // Its answer is late, or it repeats the call that ended the run.
  const before = [fact({ answered: 2110 }), fact({ sent: 2100, answered: 2110, state: 'waiting' })];
  expect(judged({ steps: before })).toEqual([]);
});

test('a step with two outcomes is found', () => {
  const other = { run: later, sent: 2010, answered: 2010, read: true };
  for (const more of [{ result: 'other' }, { state: 'failed' }])
    expect(judged({ steps: [fact(), fact({ ...other, ...more })] })).toEqual([
      'a step has two outcomes',
    ]);
});

test('a sleep that ends before its time is found', () => {
  const asleep = fact({ name: 'nap', state: 'waiting', due: 2200 });
  const awake = (answered: number) =>
    fact({ name: 'nap', run: later, sent: answered, answered, read: true });
  expect(judged({ steps: [asleep, awake(2205)] })).toEqual([]);
  expect(judged({ steps: [asleep, awake(2150)] })).toEqual(['a sleep ended before its time']);
  // A wait for a child ends before its time.
  const child = { state: 'done', completed: 2100 };
  const waits = [asleep, awake(2150)].map((step) => ({ ...step, child: 7, result: null }));
  expect(judged({ steps: waits, child })).toEqual([]);
});

test('an outcome of a child that is not that of its end, or comes before it, is found', () => {
  const kinds = (more: Partial<StepFact>, state = 'done', completed = 1080) =>
    judged({
      steps: [fact({ name: 'child', child: 7, result: { n: 7 }, ...more })],
      child: { state, completed },
    });
  expect(kinds({})).toEqual([]);
  expect(kinds({ result: null })).toEqual([]);
  expect(kinds({ state: 'failed', result: null }, 'dead')).toEqual([]);
  const found = ['a child has another outcome'];
  expect(kinds({ result: { n: 8 } })).toEqual(found);
  expect(kinds({}, 'dead')).toEqual(found);
  expect(kinds({ state: 'failed', result: null })).toEqual(found);
  expect(kinds({}, 'done', 1150)).toEqual(found);
});

test('a wait that misses a signal, or gets another payload than the first, is found', () => {
  const signals = [signal(1, 1020), signal(2, 1040)];
  expect(judged({ signals, steps: [wait()] })).toEqual([]);
  const kinds = (more: Partial<StepFact>, those = signals) =>
    judged({ signals: those, steps: [wait(more)] });
  expect(kinds({ state: 'timed_out', result: null })).toEqual(['a signal was lost']);
  expect(kinds({ state: 'timed_out', result: null, sent: 1025 })).toEqual([]);
  expect(kinds({ result: { s: 2 } })).toEqual(['a later payload won']);
  expect(kinds({ result: { s: 3 } })).toEqual(['a payload that was not signalled']);
  const undone = { s: 1, event: 'e', sent: 1020, undone: true } as const;
  expect(kinds({}, [undone])).toEqual(['a payload that was not signalled']);
});

test('a task that still waits after a signal, and an event with two payloads, are found', () => {
  const kinds = (more: Partial<Signal>) =>
    judged({ signals: [signal(1, 1020, { woken: 1 }), signal(2, 1040, more)] });
  expect(kinds({})).toEqual([]);
  expect(kinds({ woken: 1 })).toEqual(['a signalled task still waited']);
  expect(kinds({ woken: 1, sent: 1025 })).toEqual([]);
  expect(kinds({ accepted: true })).toEqual(['two payloads were accepted']);
});
