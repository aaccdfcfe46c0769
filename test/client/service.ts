import type { CallOptions } from '../../client/call.ts';
import { createApp } from '../../functions/app.ts';
import { type Service, service } from '../http/service.ts';

/** What a request was, as the server saw it. */
export type Seen = { route: string; body: Record<string, unknown> };

export type Way = Service & {
  options: CallOptions;
  seen: Seen[];
  /** What becomes of the next requests, one each: lost is done, and its answer never comes. */
  fate(...fates: ('lost' | 'refused' | 'unsent' | 'fine')[]): void;
};

/** The real app and database, and a fetch to it that may lose answers. */
export async function way(): Promise<Way> {
  const made = await service();
  const app = createApp(made.connect);
  const seen: Seen[] = [];
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
