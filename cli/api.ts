import type pg from 'pg';
import { type CallOptions, caller } from '../client/call.ts';
import { TockError } from '../client/errors.ts';
import { type RouteInput, requestLine } from '../client/route.ts';
import type { Answer, Route } from '../client/wire.ts';
import { withDatabase } from '../migrate/connect.ts';
import { type ExitCode, Failure } from '../migrate/failure.ts';
import { withOptionName, withOptions } from './option_names.ts';
import { databaseBehind, type GlobalOptions, resolveTarget } from './settings.ts';
import { explain } from './statement.ts';

/** Options of a call: `parse` replaces JSON.parse; `once` forbids a retry after a lost answer. */
type RequestOptions = { parse?: (text: string) => unknown; once?: boolean };
/** The arguments of a call; optional if the route needs no input. */
type Arguments<R extends Route> =
  object extends RouteInput<R>
    ? [args?: RouteInput<R> & RequestOptions]
    : [args: RouteInput<R> & RequestOptions];

/** Calls the server's routes, or the same routes of the app in this process. */
export type Api = {
  /** True for the app in this process, which has the rights of the database role and none of the Worker's bindings. */
  isLocal: boolean;
  call<R extends Route>(route: R, ...args: Arguments<R>): Promise<Answer<R>>;
  /** Returns null for a 404. */
  find<R extends Route>(route: R, ...args: Arguments<R>): Promise<Answer<R> | null>;
};

const advice: Record<number, string> = {
  401: 'Set TOCK_KEY to a key from: tock key create',
  403: 'Use a key with that scope and queue: tock key create',
  413: 'Send a smaller request.',
  429: 'Retry in a moment.',
  503: 'Retry in a moment.',
};

function exitCode(status: number): ExitCode {
  if (status === 404) return 3;
  if (status === 400 || status === 422) return 2;
  // 4 means that a retry may help: gateways send 502 if they reach no server. 507 is 1: the answer was too large.
  return status === 429 || (status > 501 && status !== 507) ? 4 : 1;
}

/** The hint after a 503. The client has already retried the call, so the database is not reachable. */
const unreachable =
  'Check that PostgreSQL runs and that the server reaches it (its log, or GET /v1/health), then retry.';

/** The server's hint, with fields replaced by command-line options. */
function next(status: number, hint: string | undefined): string | undefined {
  if (hint && /GET \/v1\/health/.test(hint)) return unreachable;
  if (hint && /openapi\.json/.test(hint)) return 'Use --help to list the options.';
  return hint ? withOptions(hint).replace(/GET \/v1\/tasks\/(?=\d)/, 'tock task ') : advice[status];
}

function refused(url: string, isLocal: boolean, error: unknown): unknown {
  if (!(error instanceof TockError)) return error;
  const { status, message, problem } = error;
  if (status === 0) {
    return isLocal
      ? explain(error.cause)
      : new Failure(
          `${message}.`,
          'Start the server (npm start), or correct --url or TOCK_URL.',
          4,
        );
  }
  const { title, detail, field, hint, errors = [] } = problem;
  // `detail` repeats the first error.
  const otherErrors = errors
    .slice(1)
    .map((error) => `\n${withOptionName(error.field, error.detail)}`);
  // The field of a conflict names the state, not an argument.
  const argumentField = status === 409 ? undefined : field;
  const fullMessage = withOptionName(argumentField, detail ?? title ?? `${message} from ${url}`);
  return new Failure(fullMessage + otherErrors.join(''), next(status, hint), exitCode(status));
}

/** Says on stderr which nodes of several an answer lacks, once for the same ones. */
function missingNodesWarning(): (answer: unknown) => void {
  let last = '';
  return (answer) => {
    const { missing_nodes = [] } = (answer ?? {}) as { missing_nodes?: number[] };
    const text = missing_nodes.join(', ');
    if (text && text !== last)
      process.stderr.write(`Node ${text} does not answer: what it has is left out.\n`);
    last = text;
  };
}

type ServerTarget = { url: string; key: string; fetch?: CallOptions['fetch'] };

/** A client of a server. With `fetch` it calls the app in this process instead. */
function createApi({ url, key, fetch }: ServerTarget): Api {
  const isLocal = fetch !== undefined;
  const warn = missingNodesWarning();
  const options = { url, key, timeout_seconds: 60, deadline_seconds: 180, ...(fetch && { fetch }) };
  const api: Api = {
    isLocal,
    async call(route, ...[args = {} as never]) {
      const { body, parse, once } = args;
      // A retry is safe, because a call has a request id or is idempotent. In this process no answer is lost.
      const retries = once || isLocal ? 0 : 2;
      const call = caller({ ...options, retries, ...(parse && { parse }) });
      try {
        const answer = (await call(...requestLine(route, args), body)) as never;
        warn(answer);
        return answer;
      } catch (error) {
        throw refused(url, isLocal, error);
      }
    },
    async find(route, ...args) {
      try {
        return await api.call(route, ...args);
      } catch (error) {
        if (error instanceof Failure && error.exitCode === 3) return null;
        throw error;
      }
    },
  };
  return api;
}

/** Runs the app in this process on its own connection. */
export const withDatabaseApi = <T>(url: string, work: (api: Api) => Promise<T>): Promise<T> =>
  withDatabase(url, async (client: pg.Client) => {
    const { appFetch } = await import('./local.ts');
    return work(createApi({ url: 'http://tock', key: '', fetch: appFetch(client) }));
  });

export async function withApi<T>(
  options: GlobalOptions,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const target = resolveTarget(options);
  return target.kind === 'http' ? work(createApi(target)) : withDatabaseApi(target.url, work);
}

/** Uses the database behind the target if it is known, because there may be no API key yet. Else it uses the target. */
export async function withDatabasePreferred<T>(
  options: GlobalOptions,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const { database } = databaseBehind(options);
  return database ? withDatabaseApi(database, work) : withApi(options, work);
}

/** Fails if the queue does not exist or the key may not read it, for routes that accept any queue name. */
export async function requireQueue(api: Api, queue: string): Promise<void> {
  const unseen = (error: unknown) => {
    if (error instanceof Failure && error.exitCode === 1) return true;
    throw error;
  };
  if (await api.find('GET /v1/queues/{queue}', { path: { queue } }).catch(unseen)) return;
  throw new Failure(`There is no queue ${queue}.`, 'See: tock queue list', 3);
}
