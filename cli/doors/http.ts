import { caller as client, type Method } from '../../client/call.ts';
import { TockError } from '../../client/errors.ts';
import { type ExitCode, Failure } from '../failure.ts';
import { httpArchive } from './archive.ts';
import type { Parse } from './claims.ts';
import {
  type Dead,
  type Door,
  type Dropped,
  ended,
  type Parent,
  type Part,
  type Purged,
  type Redriven,
  type Task,
} from './door.ts';
import { httpKeys } from './keys.ts';
import { httpLeases } from './leases.ts';
import { httpLooks } from './looks.ts';
import { httpPools } from './pools.ts';
import { httpPush } from './push.ts';
import { httpSchedules } from './schedules.ts';
import { inOptions, told } from './told.ts';

const advice: Record<number, string> = {
  401: 'Set TOCK_KEY to a key from: tock key create',
  403: 'Use a key with that scope and queue: tock key create',
  413: 'Send less at once.',
  429: 'Try again in a moment.',
  503: 'Try again in a moment.',
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

function refused(url: string, error: unknown): unknown {
  if (!(error instanceof TockError)) return error;
  const { status, message, problem } = error;
  if (status === 0) {
    return new Failure(`${message}.`, 'Start it (npm start), or correct --url or TOCK_URL.', 4);
  }
  const { title, detail, field, hint, errors = [] } = problem;
  // The first one is the detail.
  const more = errors.slice(1).map((error) => `\n${told(error.field, error.detail)}`);
  // A conflict's field is no mistake of whoever asks.
  const about = status === 409 ? undefined : field;
  const said = told(about, detail ?? title ?? `${message} from ${url}`);
  return new Failure(said + more.join(''), next(status, hint), exitCode(status));
}

/** Enqueueing and claiming carry a request id and changing twice is changing once: any call may be repeated. */
function caller(url: string, key: string, retries = 2) {
  const options = { url, key, retries, timeout_seconds: 60, deadline_seconds: 180 };
  const plain = client(options);
  return async <T>(route: string, body?: string, parse?: Parse): Promise<T> => {
    const [method = 'GET', path = '/'] = route.split(' ');
    try {
      const call = parse ? client({ ...options, parse }) : plain;
      return await call<T>(method as Method, path, body);
    } catch (error) {
      throw refused(url, error);
    }
  };
}

const gatesOf = (queue: string) => `/v1/queues/${encodeURIComponent(queue)}/gates`;

/** What is not given is left out. */
function queryString(options: Record<string, unknown>): string {
  const given = Object.entries(options).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

export function httpDoor(origin: string, key: string): Door {
  const found = caller(origin, key);
  const foundOrNull = async <T>(route: string, body?: string): Promise<T | null> => {
    try {
      return await found<T>(route, body);
    } catch (error) {
      if (error instanceof Failure && error.exitCode === 3) return null;
      throw error;
    }
  };
  const at = (queue: string) => `/v1/queues/${encodeURIComponent(queue)}`;
  return {
    ...httpArchive({ found, query: queryString }),
    ...httpKeys({ found, foundOrNull, once: caller(origin, key, 0), query: queryString }),
    ...httpLeases(found),
    ...httpLooks({ found, foundOrNull, query: queryString }),
    ...httpPools({ found, foundOrNull }),
    ...httpPush({ foundOrNull }),
    ...httpSchedules({ found, foundOrNull }),
    async enqueue(queue, tasks, requestId) {
      const route = `POST ${at(queue)}/tasks`;
      const body = `{"request_id":${JSON.stringify(requestId)},"tasks":[${tasks.join()}]}`;
      return (await found<{ ids: string[] }>(route, body)).ids;
    },
    async task(id, waitSeconds) {
      const end = Date.now() + waitSeconds * 1000;
      for (;;) {
        // A call waits up to 30 seconds.
        const wait = Math.min(30, Math.max(0, Math.ceil((end - Date.now()) / 1000)));
        const query = wait > 0 ? `?wait_seconds=${wait}` : '';
        const task = await foundOrNull<Task>(`GET /v1/tasks/${id}${query}`);
        if (!task || ended.includes(task.state) || Date.now() >= end) return task;
      }
    },
    async parents(id, after, limit) {
      const route = `GET /v1/tasks/${id}/parents?after=${after}&limit=${limit}`;
      return (await foundOrNull<{ parents: Parent[] }>(route))?.parents ?? null;
    },
    stats: async () => (await found<{ queues: never[] }>('GET /v1/queues')).queues,
    async hours(queue, from, to) {
      const given = Object.entries({ from, to }).filter(([, at]) => at !== null) as [
        string,
        string,
      ][];
      const query = new URLSearchParams(given);
      const route = `GET /v1/queues/${encodeURIComponent(queue)}/hours`;
      const answer = await found<{ hours: never[] }>(query.size > 0 ? `${route}?${query}` : route);
      return answer.hours;
    },
    async cancel(ids) {
      const body = JSON.stringify({ ids });
      return (await found<{ tasks: never[] }>('POST /v1/tasks/cancel', body)).tasks;
    },
    change: (id, changes) => foundOrNull(`PATCH /v1/tasks/${id}`, changes),
    async erase(id) {
      const answer = await foundOrNull<{ erased: number }>(`DELETE /v1/tasks/${id}/payload`);
      return answer?.erased ?? null;
    },
    gates: async (queue) => (await found<{ gates: never[] }>(`GET ${gatesOf(queue)}`)).gates,
    gate: (queue, gate) => foundOrNull(`GET ${gatesOf(queue)}/${encodeURIComponent(gate)}`),
    async putGate(queue, gate, settings) {
      const route = `PATCH ${gatesOf(queue)}/${encodeURIComponent(gate)}`;
      await found(route, JSON.stringify(settings));
    },
    async resetGate(queue, gate) {
      const route = `DELETE ${gatesOf(queue)}/${encodeURIComponent(gate)}`;
      return (await foundOrNull(route)) !== null;
    },
    async limits(queue) {
      if (queue === undefined) return (await found<{ limits: never[] }>('GET /v1/limits')).limits;
      const one = await foundOrNull(`GET /v1/queues/${encodeURIComponent(queue)}/limits`);
      return one ? [one as never] : [];
    },
    async resetLimits(queue) {
      const one = await foundOrNull(`POST /v1/queues/${encodeURIComponent(queue)}/limits/reset`);
      return one ? [one as never] : [];
    },
    dead: (queue, limit) => found<Dead>(`GET ${at(queue)}/dead?limit=${limit}`),
    async rerun(ids, request_id, reason) {
      const body = JSON.stringify({ ids, request_id, reason });
      return (await found<{ tasks: never[] }>('POST /v1/tasks/rerun', body)).tasks;
    },
    redrive: (queue, wish) => found<Redriven>(`POST ${at(queue)}/redrive`, JSON.stringify(wish)),
    async move(ids, queue) {
      const body = JSON.stringify({ ids, queue });
      return (await found<{ tasks: never[] }>('POST /v1/tasks/move', body)).tasks;
    },
    changeWhere(queue, where) {
      const verb = where.priority === undefined ? 'cancel' : 'reprioritize';
      return found<Part>(`POST ${at(queue)}/${verb}`, JSON.stringify(where));
    },
    purge: (queue, state) => found<Purged>(`POST ${at(queue)}/purge`, JSON.stringify({ state })),
    drop: (queue, force) => foundOrNull<Dropped>(`DELETE ${at(queue)}?force=${force}`),
    doctor: async () => (await found<{ findings: never[] }>('GET /v1/doctor')).findings,
  };
}
