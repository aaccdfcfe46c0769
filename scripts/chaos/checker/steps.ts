import type { Difference, Journal, Signal, StepFact } from '../journal.ts';
import { type Delivery, slack } from './deliveries.ts';
import { later } from './ends.ts';

const final = new Set(['done', 'failed', 'timed_out']);
const nameOf = ({ task, name }: { task: string; name: string }) => `${task} ${name}`;

/**
 * Finds functions of steps that ran although an outcome had been acknowledged: before their run was claimed, or in the
 * same run. A worker whose lease has ended may run a function that another worker's run has replaced; it saves nothing.
 */
function ranAgain({ steps, executions }: Journal): Difference[] {
  const first = new Map<string, StepFact>();
  for (const fact of steps) {
    const before = first.get(nameOf(fact));
    if (final.has(fact.state) && (!before || fact.answered < before.answered))
      first.set(nameOf(fact), fact);
  }
  return executions.flatMap((execution) => {
    const { task, run, since, at } = execution;
    const saved = first.get(nameOf(execution));
    if (!saved || saved.answered >= (saved.run === run ? at : since)) return [];
    const detail = `${execution.name}: saved by ${saved.answered}, ran at ${at} in run ${run} of a claim at ${since}`;
    return [{ kind: 'a step ran after its checkpoint', task, detail }];
  });
}

/** Finds checkpoints that were accepted although a later run of the task had been leased, and no crash undid that. */
function savedLate({ steps, crashes }: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  return steps.flatMap(({ task, run, name, sent, answered, state, read }) => {
    // A repeated call that has ended its run is answered with waiting.
    if (read || state === 'waiting') return [];
    const next = deliveries
      .get(task)
      ?.find((other) => later(other.run.run, run) && other.claim.answered < sent);
    if (!next || crashes.some((crash) => crash >= next.claim.sent && crash <= answered)) return [];
    const detail = `${name}: sent at ${sent}, leased again by ${next.claim.answered}`;
    return [{ kind: 'a checkpoint by a stale lease', task, detail }];
  });
}

/** Finds outcomes that differ from an earlier one of the same step. */
function otherOutcome({ steps }: Journal): Difference[] {
  const outcomes = new Map<string, string>();
  return steps.flatMap((fact) => {
    if (!final.has(fact.state)) return [];
    const outcome = JSON.stringify([fact.state, fact.result]);
    const before = outcomes.get(nameOf(fact));
    if (!before) outcomes.set(nameOf(fact), outcome);
    if (!before || before === outcome) return [];
    const detail = `${fact.name}: ${before}, then ${outcome}`;
    return [{ kind: 'a step has two outcomes', task: fact.task, detail }];
  });
}

function earlySleeps({ steps }: Journal): Difference[] {
  const due = new Map<string, number>();
  for (const fact of steps)
    if (fact.state === 'waiting' && !fact.event && !fact.child && fact.due !== undefined)
      due.set(nameOf(fact), Math.max(fact.due, due.get(nameOf(fact)) ?? 0));
  return steps.flatMap((fact) => {
    const until = due.get(nameOf(fact)) ?? 0;
    if (fact.state !== 'done' || fact.answered >= until - slack) return [];
    const detail = `${fact.name}: until ${until}, over by ${fact.answered}`;
    return [{ kind: 'a sleep ended before its time', task: fact.task, detail }];
  });
}

/** Finds outcomes of children that are not those of their ends, or came before a worker completed the child. */
function wrongChildren({ steps, ends, stored }: Journal): Difference[] {
  const states = new Map<number, string>();
  for (const { n, state, rerunOf } of stored.values()) if (!rerunOf) states.set(n, state);
  const completed = new Map<number, number>();
  for (const { verb, sent, runs } of ends)
    if (verb === 'complete')
      for (const { n } of runs) completed.set(n, Math.min(sent, completed.get(n) ?? sent));
  return steps.flatMap(({ task, name, state, result, child, answered }) => {
    if (!child || !final.has(state)) return [];
    const isDone = states.get(child) === 'done';
    // A child that was completed without a result has null.
    const { n } = (result ?? { n: child }) as { n: number };
    const isEarly = isDone && (completed.get(child) ?? Number.POSITIVE_INFINITY) > answered;
    if ((state === 'done') === isDone && n === child && !isEarly) return [];
    const detail = `${name}: ${state} ${JSON.stringify(result)}, child ${child} is ${states.get(child)}`;
    return [{ kind: 'a child has another outcome', task, detail }];
  });
}

/** True if another signal of the event was acknowledged before this time. */
const hadSignal = (signals: Signal[], time: number, except?: Signal) =>
  signals.some(
    (signal) => signal !== except && (signal.acknowledged ?? Number.POSITIVE_INFINITY) < time,
  );

/** Finds waits that missed a signal, and payloads that were not the first. */
function wrongPayloads({ steps }: Journal, byEvent: Map<string, Signal[]>): Difference[] {
  return steps.flatMap(({ task, name, state, result, event, sent, read }) => {
    if (event === undefined) return [];
    const signals = byEvent.get(event) ?? [];
    const differ = (kind: string) => [
      { kind, task, detail: `${name} of ${event}: ${JSON.stringify(result)}` },
    ];
    if (state === 'timed_out' && !read && hadSignal(signals, sent))
      return differ('a signal was lost');
    if (state !== 'done') return [];
    const winner = signals.find(({ s }) => s === (result as { s?: number } | null)?.s);
    if (!winner || winner.undone) return differ('a payload that was not signalled');
    return hadSignal(signals, winner.sent, winner) ? differ('a later payload won') : [];
  });
}

/** Finds tasks that still waited after a signal, and events with two payloads. */
function wrongSignals(byEvent: Map<string, Signal[]>): Difference[] {
  return [...byEvent].flatMap(([event, signals]) => {
    const differences: Difference[] = [];
    const differ = (kind: string, detail: string) =>
      differences.push({ kind, task: event, detail });
    for (const signal of signals)
      if (signal.woken && hadSignal(signals, signal.sent, signal))
        differ('a signalled task still waited', `signal ${signal.s} woke ${signal.woken}`);
    const accepted = signals.filter((signal) => signal.accepted);
    if (accepted.length > 1)
      differ('two payloads were accepted', accepted.map(({ s }) => `signal ${s}`).join(', '));
    return differences;
  });
}

/** The checks of steps, sleeps, waits and children. */
export function checkSteps(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const byEvent = Map.groupBy(journal.signals.values(), ({ event }) => event);
  return [
    ...ranAgain(journal),
    ...savedLate(journal, deliveries),
    ...otherOutcome(journal),
    ...earlySleeps(journal),
    ...wrongChildren(journal),
    ...wrongPayloads(journal, byEvent),
    ...wrongSignals(byEvent),
  ];
}
