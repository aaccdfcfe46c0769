import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type pg from 'pg';
import { expect } from 'vitest';
import { expectInvariants } from '../sql/invariants.ts';
import { task, waitUntil } from '../sql/verbs.ts';
import type { TappedProxy } from '../worker/proxy.ts';

/** When a worker dies: after a call has arrived, or after its answer has come back. It is stopped before an answer. */
export type How = 'inside' | 'before' | 'after';
/** A worker that is stopped goes on when another one has ended its task. */
export type Boundary = { at: number; how: How };
const isStop = (boundary?: Boundary) => boundary?.how === 'before';

/** A worker that can die. Its calls end when they are done, or when it is dead. */
export type MortalWorker = {
  work(): Promise<unknown>;
  signal(id: string, link: string): Promise<unknown>;
  kill(): Promise<unknown>;
  stop?(): unknown;
  resume?(): unknown;
};

/** An execution of a step's function. Its number is its place in the ledger. `got` is what its run has got before. */
export type Execution = { n: number; id: string; name: string; got: object };

export type Place = {
  owner: pg.Client;
  /** The listener at which steps have their effects. */
  listener: string;
  ledger: Execution[];
  /** Starts a worker whose calls pass the proxies. */
  start(): Promise<MortalWorker>;
  /** Starts a worker that replaces a dead one. */
  replace(): Promise<MortalWorker>;
  /** True once nothing that a dead worker has sent is executed any more. */
  isOver(): Promise<boolean>;
};

/** A task, and what its workers have to do with it. */
export type Scenario = {
  begin(): Promise<string>;
  /** Does what the task waits for. */
  between(worker: MortalWorker, id: string): Promise<unknown>;
  /** Checks the ended task. `end` is the length of the ledger at its end. */
  check(id: string, end: number): Promise<void>;
};

// Statements of workers, and their requests.
const isCall =
  /tock\.(\w*claim\w*|next|save_steps|lease_steps|signal\w*|create_event_link|complete|fail|release)\(|tock_client\.run|^Q.{4}(commit|rollback)|public\.effects|^(GET|POST) \/v1\//s;
const names =
  /save_steps|lease_steps|tock\.signal\w*|create_event_link|public\.effects|complete|claim|tock_client\.run|commit|rollback|\/v1\/\S*/;

/** Counts the calls of workers, and kills the worker at one of them. */
export function createWatch() {
  let calls: string[] = [];
  let boundary: Boundary | undefined;
  let die = () => {};

  /** Counts a call. The returned function is called at each stage of it, and returns true if the worker dies there. */
  function call(name: string): (how: How) => boolean {
    const at = calls.push(name);
    return (how) => {
      if (boundary?.at !== at || boundary.how !== how) return false;
      die();
      return true;
    };
  }

  return {
    call,
    /** Counts from here on. Returns the calls so far. */
    begin(next?: Boundary, onDeath = () => {}): string[] {
      calls = [];
      boundary = next;
      die = onDeath;
      return calls;
    },
    through(proxy: TappedProxy): void {
      const stages = new Map<string, (how: How) => boolean>();
      proxy.hears = {
        sending(text) {
          if (!isCall.test(text)) return true;
          const stage = call(names.exec(text)?.[0] ?? '');
          stages.set(text, stage);
          return true;
        },
        sent: (text) => stages.get(text)?.('inside'),
        answering: (text) => stages.get(text)?.('before'),
        answered: (text) => stages.get(text)?.('after'),
      };
    },
  };
}

export type Watch = ReturnType<typeof createWatch>;

/** A listener for the effects of steps. The first execution of the step `ship` fails. */
export async function openListener(watch: Watch) {
  const ledger: Execution[] = [];
  const server = createServer(async (request, response) => {
    const got = (await json(request).catch(() => null)) as object | null;
    if (!got) return;
    const [, name = '', id = ''] = (request.url ?? '').split('/');
    const stage = watch.call(`effect ${name}`);
    const fails =
      name === 'ship' && !ledger.some((other) => other.id === id && other.name === name);
    const n = ledger.length;
    ledger.push({ n, id, name, got });
    if (stage('inside')) return response.destroy();
    stage('before');
    response.end(JSON.stringify({ n, fails }));
    stage('after');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const listener = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ledger,
    listener,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The leases of a worker expire and are reaped. */
async function takeBack({ owner }: Place): Promise<void> {
  // A worker that was stopped in a transaction that ends its run has the lease locked.
  await owner.query(`update tock.leases set leased_until = now() - interval '1 s'
    where (tableoid, ctid) in (
      select l.tableoid, l.ctid from tock.leases l where l.closed_at is null for update skip locked)`);
  await owner.query('select tock.reap(p_sweep => true)');
}

/** Takes a task to its end, with a worker that dies or is stopped at a boundary, if one is given. */
async function follow(place: Place, watch: Watch, scenario: Scenario, boundary?: Boundary) {
  const { owner, ledger } = place;
  const id = await scenario.begin();
  const first = await place.start();
  let worker = first;
  let [died] = [false];
  let isGone = () => {};
  const gone = new Promise<void>((resolve) => {
    isGone = resolve;
  });
  const calls = watch.begin(boundary, () => {
    died = true;
    void (isStop(boundary) ? first.stop?.() : first.kill());
    isGone();
  });
  let doing: Promise<unknown> = Promise.resolve();
  /** Resolves when the call is done, or the worker is dead or stopped. */
  const orGone = (call: Promise<unknown>) => {
    if (worker !== first) return call;
    doing = call;
    return Promise.race([call, gone]);
  };
  const state = async () => (await task(owner, id))?.state;
  async function replaceWorker(): Promise<void> {
    if (!isStop(boundary)) {
      await first.kill();
      await waitUntil('the calls of the dead worker have ended', place.isOver);
    }
    await takeBack(place);
    // The stopped worker has a transaction that ends the run, so its lease is not reaped.
    if ((await state()) === 'running') first.resume?.();
    worker = await place.replace();
  }

  try {
    for (let round = 0; ; round++) {
      if (round === 20) throw new Error(`Task ${id} has not ended after 20 rounds.`);
      if (!died || worker !== first) await orGone(worker.work());
      if (died && worker === first) await replaceWorker();
      else {
        const now = await waitUntil(`task ${id} runs no more`, async () => {
          const current = (died && worker === first) || (await state());
          return current !== 'running' && { state: current };
        });
        if (now.state === 'waiting') await orGone(scenario.between(worker, id));
        else if (now.state !== 'ready' && now.state !== true) break;
      }
    }
    const end = ledger.length;
    watch.begin();
    if (died && isStop(boundary)) {
      first.resume?.();
      await doing;
    }
    expect(await state()).toBe('done');
    await scenario.check(id, end);
  } finally {
    watch.begin();
    if (!died || isStop(boundary)) await first.kill();
  }
  return { calls, died };
}

/**
 * Kills a worker inside and after each call of the scenario, one after the other, or stops it after each call. Returns
 * the calls.
 */
export async function breakAtEachCall(
  place: Place,
  watch: Watch,
  scenario: Scenario,
  ways: How[] = ['inside', 'after'],
): Promise<string[]> {
  const { calls } = await follow(place, watch, scenario);
  const problems: Record<string, string> = {};
  let deaths = 0;
  for (const [index, call] of calls.entries()) {
    for (const how of ways) {
      try {
        const { died } = await follow(place, watch, scenario, { at: index + 1, how });
        if (died) deaths++;
      } catch (error) {
        problems[`${how} call ${index + 1}, ${call}`] = `${(error as Error).stack}`;
      }
    }
  }
  console.log(`${deaths} workers died at ${calls.length} calls (${ways})`);
  expect(problems).toEqual({});
  await expectInvariants(place.owner);
  // A call may be missing in another run of the scenario, such as a claim that found nothing.
  expect(deaths).toBeGreaterThan(0.8 * ways.length * calls.length);
  return calls;
}
