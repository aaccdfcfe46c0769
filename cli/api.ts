import type pg from 'pg';
import { type CallOptions, caller } from '../client/call.ts';
import { TockError } from '../client/errors.ts';
import { type RouteInput, requestLine } from '../client/route.ts';
import type { Answer, Route } from '../client/wire.ts';
import { withDatabase } from '../migrate/connect.ts';
import { type ExitCode, Failure } from '../migrate/failure.ts';
import { explain } from './ask.ts';
import { beneath, type GlobalOptions, way } from './settings.ts';
import { inOptions, told } from './told.ts';

/** `parse` instead of JSON.parse; `once`: not again where the answer was lost. */
type More = { parse?: (text: string) => unknown; once?: boolean };
/** Optional, where the route needs nothing. */
type Arguments<R extends Route> =
  object extends RouteInput<R> ? [given?: RouteInput<R> & More] : [given: RouteInput<R> & More];

/** The routes of the server, or of the same app in this process. */
export type Api = {
  /** The app is in this process, with the rights of the database's role and without a Worker's bindings. */
  isLocal: boolean;
  call<R extends Route>(route: R, ...given: Arguments<R>): Promise<Answer<R>>;
  /** Null where there is no such thing. */
  find<R extends Route>(route: R, ...given: Arguments<R>): Promise<Answer<R> | null>;
};

const advice: Record<number, string> = {
  401: 'Set TOCK_KEY to a key from: tock key create',
  403: 'Use a key with that scope and queue: tock key create',
  413: 'Send less at once.',
  429: 'Retry in a moment.',
  503: 'Retry in a moment.',
};

function exitCode(status: number): ExitCode {
  if (status === 404) return 3;
  if (status === 400 || status === 422) return 2;
  // Also what a gateway says when nothing is behind it; 507 is an answer that was too large.
  return status === 429 || (status > 501 && status !== 507) ? 4 : 1;
}

/** Each call was repeated with its own request id already: what is left is the way to the database. */
const unreachable =
  'See that PostgreSQL runs and that the server reaches it (its log, or GET /v1/health), then try again.';

/** The server's own hint, in words of the command line. */
function next(status: number, hint: string | undefined): string | undefined {
  if (hint && /GET \/v1\/health/.test(hint)) return unreachable;
  if (hint && /openapi\.json/.test(hint)) return 'Add --help to see what it takes.';
  return hint ? inOptions(hint).replace(/GET \/v1\/tasks\/(?=\d)/, 'tock task ') : advice[status];
}

function refused(url: string, isLocal: boolean, error: unknown): unknown {
  if (!(error instanceof TockError)) return error;
  const { status, message, problem } = error;
  if (status === 0) {
    return isLocal
      ? explain(error.cause)
      : new Failure(`${message}.`, 'Start it (npm start), or correct --url or TOCK_URL.', 4);
  }
  const { title, detail, field, hint, errors = [] } = problem;
  // The first one is the detail.
  const more = errors.slice(1).map((error) => `\n${told(error.field, error.detail)}`);
  // A conflict's field is no mistake of whoever asks.
  const about = status === 409 ? undefined : field;
  const said = told(about, detail ?? title ?? `${message} from ${url}`);
  return new Failure(said + more.join(''), next(status, hint), exitCode(status));
}

type Place = { url: string; key: string; fetch?: CallOptions['fetch'] };

/** A server, or with a fetch of its own the app in this process. */
function apiAt({ url, key, fetch }: Place): Api {
  const isLocal = fetch !== undefined;
  const options = { url, key, timeout_seconds: 60, deadline_seconds: 180, ...(fetch && { fetch }) };
  const api: Api = {
    isLocal,
    async call(route, ...[given = {} as never]) {
      const { body, parse, once } = given;
      // Calls carry a request id or change nothing twice, so any may be repeated; in this process no answer is lost.
      const retries = once || isLocal ? 0 : 2;
      const call = caller({ ...options, retries, ...(parse && { parse }) });
      try {
        return await call(...requestLine(route, given), body);
      } catch (error) {
        throw refused(url, isLocal, error);
      }
    },
    async find(route, ...given) {
      try {
        return await api.call(route, ...given);
      } catch (error) {
        if (error instanceof Failure && error.exitCode === 3) return null;
        throw error;
      }
    },
  };
  return api;
}

/** The app in this process, on a connection of its own. */
export const withDatabaseApi = <T>(url: string, work: (api: Api) => Promise<T>): Promise<T> =>
  withDatabase(url, async (client: pg.Client) => {
    const { appFetch } = await import('./local.ts');
    return work(apiAt({ url: 'http://tock', key: '', fetch: appFetch(client) }));
  });

export async function withApi<T>(
  options: GlobalOptions,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const found = way(options);
  return found.kind === 'http' ? work(apiAt(found)) : withDatabaseApi(found.url, work);
}

/** By the database where the place names it too, as no key may be there yet; else as any. */
export async function withDatabaseFirst<T>(
  options: GlobalOptions,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const { database } = beneath(options);
  return database ? withDatabaseApi(database, work) : withApi(options, work);
}

/** The queue is there, as far as the key may see: for what says nothing of one whose name is mistyped. */
export async function mustHave(api: Api, queue: string): Promise<void> {
  const unseen = (error: unknown) => {
    if (error instanceof Failure && error.exitCode === 1) return true;
    throw error;
  };
  if (await api.find('GET /v1/queues/{queue}', { path: { queue } }).catch(unseen)) return;
  throw new Failure(`There is no queue ${queue}.`, 'See: tock queue list', 3);
}
