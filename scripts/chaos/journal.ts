/** A task as a client sent it. All times are milliseconds of the machine's clock, which the database uses too. */
export type TaskRequest = {
  n: number;
  /** The call that contained the task. Either all tasks of a call are stored or none. */
  call: string;
  queue: string;
  sent: number;
  /** sure: the call was acknowledged; none: it was refused or rolled back; unsure: no answer came. */
  fate: 'sure' | 'none' | 'unsure';
  /** The time of the answer. */
  answered?: number;
  /** The id in the answer. It is missing for spawned tasks, which an answer does not name. */
  id?: string;
  concurrency_key?: string;
  unique?: string;
  parents?: number[];
  due?: number;
  expires?: number;
  /** A client cancels or purges tasks of this kind from time to time. */
  unwanted?: true;
  /** Until the task starts, a newer task with the same key replaces it. */
  replaced?: true;
};

/** A run as a claim returned it. */
export type Run = { id: string; run: string; attempt: number; n: number; version: number };

export type Claim = {
  sent: number;
  answered: number;
  queue: string;
  lease: string;
  until: number;
  runs: Run[];
};

/** A worker's request to end runs; `acknowledged` is the time of the answer that confirmed it. */
export type End = {
  /** suspend: the run ends if its step has to wait. Such an end is never acknowledged here. */
  verb: 'complete' | 'fail' | 'release' | 'suspend';
  lease: string;
  sent: number;
  acknowledged?: number;
  runs: Run[];
  /** The tasks that it completes for good: no further stage follows, and they wait for no spawned task. */
  final: string[];
};

/** An execution of a step's function. `since` is the time at which the claim of its run was sent. */
export type Execution = { task: string; run: string; name: string; since: number; at: number };

/** What an answer said about a step: the outcome of the call that saved it, or with `read` what a later run got. */
export type StepFact = {
  task: string;
  run: string;
  name: string;
  sent: number;
  answered: number;
  state: string;
  result: unknown;
  /** The time until which it waits. */
  due?: number;
  event?: string;
  /** The number of the child for which it waits. */
  child?: number;
  read: boolean;
};

/** A signal, whose payload is `{ s }`. `acknowledged`, `accepted` and `woken` are of its answer. */
export type Signal = {
  s: number;
  event: string;
  sent: number;
  acknowledged?: number;
  accepted?: boolean;
  woken?: number;
  /** Its transaction was rolled back. */
  undone?: true;
};

/** A pause of a queue. No claim may return its tasks between `acknowledged` and `until`, the time of the resume. */
export type Pause = { queue: string; acknowledged: number; until: number };

export type Change = { id: string; sent: number; acknowledged: number; version?: number };

/** A task that was rerun under another id. */
export type Rerun = { of: string; id: string };

/** A claim that was repeated with its request id: the leases and runs of both answers. */
export type Repeat = {
  sent: number;
  answered: number;
  until: number;
  first: string;
  second: string;
};

/** A task as stored in the database; `n` is the number in its payload. */
export type Stored = { id: string; n: number; state: string; rerunOf: string | null };

/**
 * Records all that clients and workers sent and received, outside the processes that are killed. Each entry is also a
 * line of journal.jsonl. The journal needs no database, so tests can construct any history.
 */
export function openJournal(write: (line: string) => void = () => {}) {
  const requests = new Map<number, TaskRequest>();
  const claims: Claim[] = [];
  const ends: End[] = [];
  const cancels: Change[] = [];
  const changes: Change[] = [];
  const reruns: Rerun[] = [];
  const pauses: Pause[] = [];
  const repeats: Repeat[] = [];
  const crashes: number[] = [];
  const executions: Execution[] = [];
  const steps: StepFact[] = [];
  const signals = new Map<number, Signal>();
  const cancelWanted = new Set<string>();
  const stored = new Map<string, Stored>();
  /** For each lease its runs and its ends. */
  const leases = new Map<string, { runs: Map<string, Run>; ends: End[] }>();
  const leaseEntry = (lease: string) => {
    const entry = leases.get(lease) ?? { runs: new Map<string, Run>(), ends: [] as End[] };
    leases.set(lease, entry);
    return entry;
  };
  const note = <T>(kind: string, fact: T): T => {
    write(JSON.stringify([kind, fact]));
    return fact;
  };
  return {
    requests,
    claims,
    ends,
    cancels,
    changes,
    reruns,
    pauses,
    repeats,
    crashes,
    executions,
    steps,
    signals,
    /** Tasks that a client tried to cancel, whatever the answer. */
    cancelWanted,
    /** Tasks that the observer has seen ended. Retention may have dropped them since. */
    stored,
    wantsCancel: (id: string) => void cancelWanted.add(note('wants cancel', id)),
    /** Recorded before the call is sent, because its sender may be killed at any time. */
    requested: (request: TaskRequest) => void requests.set(request.n, note('requested', request)),
    /** Records that a call was answered, with the ids in the answer, or that it had no effect. */
    settled(answered: number, numbers: number[], fate: 'sure' | 'none', ids: string[] = []): void {
      note('settled', { answered, numbers, fate, ids });
      numbers.forEach((n, index) => {
        const request = requests.get(n);
        if (request)
          Object.assign(request, { answered, fate, ...(ids[index] && { id: ids[index] }) });
      });
    },
    claimed(claim: Claim): void {
      claims.push(note('claimed', claim));
      const { runs } = leaseEntry(claim.lease);
      for (const run of claim.runs) runs.set(run.id, run);
    },
    /** Recorded before the end is sent. */
    ending(end: End): void {
      note('ending', end);
      const lease = leaseEntry(end.lease);
      // The runs of the claim are shared: copies would double the memory of a run of an hour.
      end.runs = end.runs.map((run) => lease.runs.get(run.id) ?? run);
      ends.push(end);
      lease.ends.push(end);
    },
    ended(lease: string, sent: number, acknowledged: number, refused: string[]): void {
      note('ended', { lease, sent, acknowledged, refused });
      const end = leases.get(lease)?.ends.findLast((candidate) => candidate.sent === sent);
      if (!end) return;
      end.acknowledged = acknowledged;
      if (refused.length === 0) return;
      end.runs = end.runs.filter((run) => !refused.includes(run.id));
      end.final = end.final.filter((id) => !refused.includes(id));
    },
    cancelled: (change: Change) => void cancels.push(note('cancelled', change)),
    changed: (change: Change) => void changes.push(note('changed', change)),
    paused: (pause: Pause) => void pauses.push(note('paused', pause)),
    repeated: (repeat: Repeat) => void repeats.push(note('repeated', repeat)),
    rerun: (rerun: Rerun) => void reruns.push(note('rerun', rerun)),
    crashed: (at: number) => void crashes.push(note('crashed', at)),
    executed: (execution: Execution) => void executions.push(note('executed', execution)),
    stepped: (fact: StepFact) => void steps.push(note('stepped', fact)),
    /** Recorded before the signal is sent. */
    signalling: (signal: Signal) => void signals.set(signal.s, note('signalling', signal)),
    signalled(s: number, answer: Omit<Signal, 's' | 'event' | 'sent'>): void {
      note('signalled', { s, ...answer });
      Object.assign(signals.get(s) ?? {}, answer);
    },
    seen: (task: Stored) => void stored.set(task.id, note('seen', task)),
  };
}

export type Journal = ReturnType<typeof openJournal>;

/** Work that was lost, done twice or otherwise wrong. */
export type Difference = { kind: string; task: string; detail: string };
