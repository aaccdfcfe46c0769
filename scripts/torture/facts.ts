/** What a task was asked to be. Times are of the machine's clock, in milliseconds, as the database's are. */
export type Ask = {
  n: number;
  /** The call it was part of: all or none of its tasks are there. */
  call: string;
  queue: string;
  sent: number;
  /** sure: an answer came; none: it was refused or rolled back; unsure: nobody knows. */
  fate: 'sure' | 'none' | 'unsure';
  /** When the answer came. */
  answered?: number;
  /** As the answer named it; the tasks that a completion adds are not named. */
  id?: string;
  gate?: string;
  unique?: string;
  parents?: number[];
  due?: number;
  expires?: number;
  /** Somebody cancels all of its kind now and then. */
  unwanted?: true;
  /** A newer task of its key takes its place until it starts. */
  replaced?: true;
};

/** A run as a claim gave it. */
export type Given = { id: string; run: string; attempt: number; n: number; version: number };

export type Claim = {
  sent: number;
  answered: number;
  queue: string;
  lease: string;
  until: number;
  runs: Given[];
};

/** An end of runs that somebody asked for; `told` is when it was answered with yes. */
export type End = {
  verb: 'complete' | 'fail' | 'release';
  lease: string;
  sent: number;
  told?: number;
  runs: Given[];
  /** The tasks that are done for good by it: no further stage, nobody waited for. */
  final: string[];
};

/** Nobody may be given anything of the queue from when it was told until `until`, when its end was sent. */
export type Pause = { queue: string; told: number; until: number };

export type Wish = { id: string; sent: number; told: number; version?: number };

/** A task that was run again, under another id. */
export type Rerun = { of: string; id: string };

/** What was said by everybody, outside of all that is killed. Each fact is also a line of the journal. */
export function openFacts(write: (line: string) => void = () => {}) {
  const asks = new Map<number, Ask>();
  const claims: Claim[] = [];
  const ends: End[] = [];
  const cancels: Wish[] = [];
  const changes: Wish[] = [];
  const reruns: Rerun[] = [];
  const pauses: Pause[] = [];
  const crashes: number[] = [];
  const wanted = new Set<string>();
  const note = <T>(kind: string, fact: T): T => {
    write(JSON.stringify([kind, fact]));
    return fact;
  };
  return {
    asks,
    claims,
    ends,
    cancels,
    changes,
    reruns,
    pauses,
    crashes,
    /** Tasks that somebody wanted cancelled, whatever was answered. */
    wanted,
    wants: (id: string) => void wanted.add(note('wants', id)),
    /** Before the call is sent: it may be killed at any time, so until it is answered it is unsure. */
    asked(ask: Ask): void {
      asks.set(ask.n, note('asked', ask));
    },
    /** The answer of a call, with ids where it gives them; or that it did nothing. */
    settled(answered: number, numbers: number[], fate: 'sure' | 'none', ids: string[] = []): void {
      note('settled', { answered, numbers, fate, ids });
      numbers.forEach((n, at) => {
        const ask = asks.get(n);
        if (ask) Object.assign(ask, { answered, fate, ...(ids[at] && { id: ids[at] }) });
      });
    },
    claimed: (claim: Claim) => void claims.push(note('claimed', claim)),
    /** The end is sent; what is returned takes the answer. */
    ending: (end: End) => void ends.push(note('ending', end)),
    ended(lease: string, sent: number, told: number, refused: string[]): void {
      note('ended', { lease, sent, told, refused });
      const end = ends.findLast((one) => one.lease === lease && one.sent === sent);
      if (!end) return;
      end.told = told;
      end.runs = end.runs.filter((run) => !refused.includes(run.id));
      end.final = end.final.filter((id) => !refused.includes(id));
    },
    cancelled: (wish: Wish) => void cancels.push(note('cancelled', wish)),
    changed: (wish: Wish) => void changes.push(note('changed', wish)),
    paused: (pause: Pause) => void pauses.push(note('paused', pause)),
    rerun: (again: Rerun) => void reruns.push(note('rerun', again)),
    crashed: (at: number) => void crashes.push(note('crashed', at)),
  };
}

export type Facts = ReturnType<typeof openFacts>;

export type Difference = { kind: string; task: string; detail: string };
