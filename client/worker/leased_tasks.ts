import { LeaseLost, TaskCancelled } from '../errors.ts';
import type { Leases } from '../lease.ts';
import type {
  Claimed,
  Ended,
  LeasedTasks,
  LeaseEnd,
  NewStep,
  Progress,
  SavedStep,
  StepOutcome,
} from '../types.ts';
import { heartbeat } from './heartbeat.ts';
import type { TaskOutcome } from './outcome.ts';
import {
  createReporter,
  type OutcomeKind,
  type ReportEvents,
  type TaskEnd,
} from './report_outcomes.ts';
import { createStepSaver } from './save_steps.ts';

/** A leased task of a worker. */
export type LeasedTask = {
  task: Claimed;
  lease: string;
  abort: AbortController;
  started: boolean;
  ended: boolean;
  progress(progress: Progress): void;
  saveSteps(steps: Omit<NewStep, 'id'>[]): Promise<StepOutcome[]>;
  /** The version of the worker. */
  version: number;
  eventUrl(event: string, valid_seconds?: number): Promise<string>;
  /** The steps that were saved in earlier runs. */
  savedSteps(): Promise<SavedStep[]>;
  /** Later outcomes of the same task are dropped. */
  end(outcome: TaskOutcome): void;
};

/** A lease of a worker. The batch extends it and reports outcomes until no task is left. */
export type LeasedBatch = {
  tasks: LeasedTask[];
  /** Releases tasks that have not started; with a reason also running ones, whose signals it aborts. */
  release(reason?: Error): void;
  /** Aborts the signals of tasks that have not ended. */
  abort(reason: Error): void;
};

/** Outcomes that the next claim of the worker reports, instead of a call of their own. */
export type EndWithClaim = {
  end: LeaseEnd;
  count: number;
  /** Without `ended`, a call of their own reports them now. */
  settle(ended?: Ended): void;
};

export type BatchOptions = {
  lease_seconds: number;
  version: number;
  late: boolean;
  report_within_ms: number;
  /** True if reports may wait for more outcomes of this lease, because no handler is idle. */
  canWait(): boolean;
  /** True if a claim is under way, which is answered soon: then `report` is called. */
  waitForClaim(report: () => void): boolean;
  /** Takes outcomes for the next claim; false if they must be reported now. */
  endWithClaim(ends: EndWithClaim): boolean;
  counted(kind: OutcomeKind, count: number): void;
  /** Called when no task of the lease is left. */
  onEmpty(): void;
  error(error: unknown): void;
};

const expiredError = () => new LeaseLost(409, { detail: 'This lease has expired.' });

export function leaseBatch(
  source: Leases,
  leased: LeasedTasks,
  options: BatchOptions,
): LeasedBatch {
  const { counted, onEmpty, error } = options;
  const tasks = leased.tasks.map(leasedTask);
  let left = tasks.length;
  // A count, because a search through all tasks at each outcome takes a second for a lease of 10,000 tasks.
  let unfinished = tasks.length;
  let lost = false;
  let outcomes: TaskEnd[] = [];
  let isReporting = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const events: ReportEvents = { counted: count, lost: loseLease, error };
  const saveSteps = createStepSaver((steps) => source.saveSteps(leased.lease, steps));
  const { report, endOf, settle } = createReporter(source, leased, events);
  const { lease_seconds, late } = options;
  const heartbeats = heartbeat(source, leased, lease_seconds, late, {
    cancel: (ids) => {
      for (const entry of unfinishedTasks(ids)) entry.abort.abort(new TaskCancelled());
    },
    lost: loseLease,
    expired() {
      heartbeats.stop();
      drop(expiredError());
    },
    error,
  });

  function leasedTask(task: Claimed): LeasedTask {
    const entry: LeasedTask = {
      task,
      lease: leased.lease,
      abort: new AbortController(),
      started: false,
      ended: false,
      progress: (progress) => heartbeats.progress(task.id, progress),
      version: options.version,
      eventUrl: source.eventUrl,
      saveSteps: (steps) => saveSteps(steps.map((step) => ({ id: task.id, ...step }))),
      async savedSteps() {
        if (task.steps?.length) return task.steps;
        // A fork that is too large for a claim has an empty list.
        if (task.run_id === task.id && !task.steps) return [];
        return source.steps(leased.lease, task.id);
      },
      end(outcome) {
        recordOutcome(entry, outcome);
        if (unfinished === 0 || outcome.kind === 'reported' || !options.canWait()) void reportAll();
        else timer ??= setTimeout(reportAll, options.report_within_ms);
      },
    };
    return entry;
  }

  function recordOutcome(entry: LeasedTask, outcome: TaskOutcome): void {
    if (entry.ended) return;
    entry.ended = true;
    unfinished--;
    heartbeats.forget(entry.task.id);
    if (lost && outcome.kind !== 'reported') count('lost', 1);
    else outcomes.push({ id: entry.task.id, end: outcome });
  }

  const unfinishedTasks = (ids?: string[]) =>
    tasks.filter(({ task, ended }) => !ended && (ids?.includes(task.id) ?? true));

  function count(kind: OutcomeKind, n: number): void {
    left -= n;
    counted(kind, n);
    if (left > 0) return;
    heartbeats.stop();
    onEmpty();
  }

  /** Leaves the outcomes to the next claim, if one follows at once. */
  function leaveToClaim(): boolean {
    const batch = outcomes;
    const end = batch.length > 0 && endOf(batch);
    if (!end) return false;
    const reportHere = async (ended?: Ended) => {
      if (ended) settle(batch, ended);
      else await report(batch);
      isReporting = false;
      await reportAll();
    };
    isReporting = options.endWithClaim({
      end,
      count: batch.length,
      settle: (ended) => void reportHere(ended),
    });
    if (isReporting) outcomes = [];
    return isReporting;
  }

  async function reportAll(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (isReporting || options.waitForClaim(reportAll) || leaveToClaim()) return;
    isReporting = true;
    while (outcomes.length > 0) {
      const batch = outcomes;
      outcomes = [];
      await report(batch);
    }
    isReporting = false;
  }

  /** Aborts running tasks, and counts those that have not started as lost. */
  function drop(reason: Error): void {
    for (const entry of unfinishedTasks()) {
      entry.abort.abort(reason);
      if (entry.started) continue;
      entry.ended = true;
      unfinished--;
      count('lost', 1);
    }
  }

  function loseLease(reason: LeaseLost): void {
    if (lost) return;
    lost = true;
    heartbeats.stop();
    drop(reason);
  }

  return {
    tasks,
    abort(reason) {
      for (const entry of unfinishedTasks()) entry.abort.abort(reason);
    },
    release(reason) {
      for (const entry of unfinishedTasks()) {
        if (entry.started && !reason) continue;
        if (reason) entry.abort.abort(reason);
        recordOutcome(entry, { kind: 'released' });
      }
      void reportAll();
    },
  };
}
