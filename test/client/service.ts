import type { CallOptions } from '../../client/call.ts';
import { createTock } from '../../client/index.ts';
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
export async function startClientService(): Promise<ClientService> {
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
export async function outlastsLease(there: ClientService, id: string): Promise<boolean> {
  await there.owner.query('select tock.reap(p_sweep => true)');
  const started = (await createTock(there.options).task(id))?.runs[0]?.started_at;
  const past = "select now() > $1::timestamptz + interval '4 seconds' as past";
  return (await there.owner.query(past, [started])).rows[0].past;
}
