import { afterAll, beforeAll } from 'vitest';
import type { CallOptions } from '../../client/call.ts';
import { createTock, type Tock } from '../../client/index.ts';
import { createApp } from '../../functions/http/app.ts';
import { type Service, service } from '../http/service.ts';

/** A request as the server saw it. */
export type SeenRequest = { route: string; body: Record<string, unknown> };

export type ClientService = Service & {
  options: CallOptions;
  seen: SeenRequest[];
  /** Sets what happens to each of the next requests. `lost`: the request is done, but its answer never arrives. */
  fate(...fates: ('lost' | 'refused' | 'unsent' | 'fine')[]): void;
};

/** Starts the real app on a database, with a fetch that can lose requests and answers. */
async function startClientService(): Promise<ClientService> {
  const made = await service();
  const app = createApp(made.connect);
  const seen: SeenRequest[] = [];
  let fates: string[] = [];
  const fetch: CallOptions['fetch'] = async (url, init) => {
    const { pathname, search } = new URL(url);
    const fate = fates.shift();
    if (fate === 'unsent') throw new TypeError('fetch failed');
    seen.push({
      route: `${init.method} ${pathname}${search}`,
      body: init.body ? JSON.parse(init.body as string) : {},
    });
    if (fate === 'refused') return new Response(null, { status: 503 });
    const response = await app.fetch(new Request(url, init));
    if (fate === 'lost') throw new TypeError('terminated');
    return response;
  };
  const options = { url: 'http://tock', key: made.key, fetch };
  return {
    ...made,
    options,
    seen,
    fate(...next) {
      fates = next;
    },
  };
}

/** What useClientService() starts before the tests of a file. */
export let there: ClientService;
/** The client of that service. */
export let tock: Tock;

export function useClientService(): void {
  beforeAll(async () => {
    there = await startClientService();
    tock = createTock(there.options);
  });
  afterAll(() => there.database.drop());
}

let count = 0;
/** A name that no other queue of the test file has. */
export const queue = () => `q${++count}`;

/** Has the open leases expired and reaped, so that another worker may have their tasks. */
export async function expireLeases(owner: Service['owner']): Promise<void> {
  await owner.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where closed_at is null",
  );
  await owner.query('select tock.reap(p_sweep => true)');
}

export const noTasksDone = { done: 0, failed: 0, released: 0, cancelled: 0, lost: 0 };

export const payloadTasks = (n: number) => Array.from({ length: n }, (_, payload) => ({ payload }));

/** A promise (`opened`) and the function that resolves it. */
export function deferred<T = void>() {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

export const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason));
  });

/** Reaps expired leases. Returns true if the task's run started more than four seconds ago; its lease has three. */
export async function outlastsLease(id: string): Promise<boolean> {
  await there.owner.query('select tock.reap(p_sweep => true)');
  const started = (await tock.task(id))?.runs[0]?.started_at;
  const past = "select now() > $1::timestamptz + interval '4 seconds' as past";
  return (await there.owner.query(past, [started])).rows[0].past;
}
