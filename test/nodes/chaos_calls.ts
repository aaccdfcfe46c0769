import { sleep } from '../sleep.ts';
import type { Entrance, Session } from './chaos_entrances.ts';

/** A server that is killed and started. `since` is when it last began to answer; null while it is down. */
export type Life = { since: number | null };

type Living = {
  answers: number;
  /** The milliseconds of calls to the living: while all servers were up, and while another one was down. */
  allUp: number[];
  othersDown: number[];
  /** When the last call was answered, and the longest time without an answer. */
  last: number;
  gap: number;
};

/**
 * Records calls. A call is one to the living if its entrance and the owners of its queues were up from its begin to its
 * end. The first owner is the node that answers.
 */
export function callLog(lives: Life[], owners: number[]) {
  const living = new Map<number, Living>(
    owners.map((owner) => [owner, { answers: 0, allUp: [], othersDown: [], last: 0, gap: 0 }]),
  );
  const failures = { living: new Map<string, number>(), others: new Map<string, number>() };
  const count = (tally: Map<string, number>, key: string) =>
    tally.set(key, (tally.get(key) ?? 0) + 1);
  const sinceOf = (servers: number[]) => servers.map((server) => lives[server]?.since ?? null);

  return {
    failures,
    living,
    /** Runs a call for a queue of a node. */
    async record<T>(
      { needs, name }: Pick<Entrance, 'needs' | 'name'>,
      owners: number[],
      call: () => Promise<T>,
    ): Promise<T> {
      const servers = [...needs, ...owners];
      const [owner = 0] = owners;
      const before = sinceOf(servers);
      const anyDown = lives.some(({ since }) => since === null);
      const begun = performance.now();
      const wereUp = () =>
        sinceOf(servers).every(
          (since, n) => since !== null && since === before[n] && since <= begun,
        );
      try {
        const answer = await call();
        const now = performance.now();
        const of = living.get(owner);
        const up = lives[owner]?.since;
        if (of && typeof up === 'number') {
          of.gap = Math.max(of.gap, now - Math.max(of.last, up));
          of.last = now;
          of.answers++;
          if (wereUp()) (anyDown ? of.othersDown : of.allUp).push(now - begun);
        }
        return answer;
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        const text = `${code ?? ''} ${message}`.replaceAll(/\d{3,}/g, 'N').slice(0, 160);
        if (wereUp()) count(failures.living, `${name} to ${owners}: ${text}`);
        else count(failures.others, text);
        throw error;
      }
    },
  };
}

export type CallLog = ReturnType<typeof callLog>;

/** A client that goes to the next entrance after each failure. */
export function caller<S extends Session>(log: CallLog, entrances: Entrance<S>[], first: number) {
  let at = first;
  let session: S | null = null;
  /** Makes a call once. */
  async function call<T>(owners: number[], act: (session: S) => Promise<T>): Promise<T> {
    const entrance = entrances[at % entrances.length] as Entrance<S>;
    try {
      return await log.record(entrance, owners, async () => {
        session ??= await entrance.open();
        return act(session);
      });
    } catch (error) {
      at++;
      await (session as S | null)?.close();
      session = null;
      await sleep(20);
      throw error;
    }
  }
  return {
    call,
    /** Repeats a call until it is answered. */
    async repeat<T>(owner: number, act: (session: S) => Promise<T>): Promise<T> {
      for (;;) {
        try {
          return await call([owner], act);
        } catch {}
      }
    },
    close: () => session?.close(),
  };
}

export const percentile = (numbers: number[], part: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(part * (numbers.length - 1))] ?? 0;
