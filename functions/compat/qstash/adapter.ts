import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { Env } from '../../http/endpoint.ts';
import { problem, refusal } from '../../http/problem.ts';
import type { Adapter, CallTock } from '../adapter.ts';
import { readForeignBytes } from '../foreign_body.ts';
import * as runLetters from '../workflow/dlq.ts';
import * as events from '../workflow/events.ts';
import * as runLogs from '../workflow/logs.ts';
import * as runs from '../workflow/runs.ts';
import { type Call, decoded, type Handler } from './call.ts';
import * as dlq from './dlq.ts';
import * as flow from './flow_control.ts';
import * as keys from './keys.ts';
import * as logs from './logs.ts';
import * as messages from './messages.ts';
import * as publish from './publish.ts';
import * as queues from './queues.ts';
import * as schedules from './schedules.ts';
import * as groups from './url_groups.ts';

/** `*` is one part of the path; `**` is the rest with the query string, a destination. */
const routes: [route: string, handler: Handler][] = [
  ['POST /v2/publish/**', publish.publish],
  ['POST /v2/enqueue/*/**', publish.enqueueTo],
  ['POST /v2/batch', publish.batch],
  ['GET /v2/messages/*', messages.getMessage],
  ['DELETE /v2/messages/*', messages.cancelMessage],
  ['DELETE /v2/messages', messages.cancelMessages],
  ['GET /v2/queues', queues.listQueues],
  ['POST /v2/queues', queues.putQueue],
  ['GET /v2/queues/*', queues.getQueue],
  ['DELETE /v2/queues/*', queues.deleteQueue],
  ['POST /v2/queues/*/pause', queues.pauseQueue],
  ['POST /v2/queues/*/resume', queues.resumeQueue],
  ['GET /v2/schedules', schedules.listSchedules],
  ['GET /v2/schedules/*', schedules.getSchedule],
  ['DELETE /v2/schedules/*', schedules.deleteSchedule],
  ['PATCH /v2/schedules/*/pause', schedules.pauseSchedule],
  ['POST /v2/schedules/*/pause', schedules.pauseSchedule],
  ['PATCH /v2/schedules/*/resume', schedules.resumeSchedule],
  ['POST /v2/schedules/*/resume', schedules.resumeSchedule],
  ['POST /v2/schedules/**', schedules.createSchedule],
  ['GET /v2/topics', groups.listGroups],
  ['GET /v2/topics/*', groups.getGroup],
  ['DELETE /v2/topics/*', groups.deleteGroup],
  ['POST /v2/topics/*/endpoints', groups.addEndpoints],
  ['DELETE /v2/topics/*/endpoints', groups.removeEndpoints],
  ['GET /v2/dlq', dlq.listLetters],
  ['DELETE /v2/dlq', dlq.deleteLetters],
  ['POST /v2/dlq/retry', dlq.retryLetters],
  ['POST /v2/dlq/retry/*', dlq.retryLetter],
  ['GET /v2/dlq/*', dlq.getLetter],
  ['DELETE /v2/dlq/*', dlq.deleteLetter],
  ['GET /v2/flowControl', flow.listFlows],
  ['GET /v2/flowControl/*', flow.getFlow],
  ['POST /v2/flowControl/*/pause', flow.pauseFlow],
  ['POST /v2/flowControl/*/resume', flow.resumeFlow],
  ['GET /v2/globalParallelism', flow.getGlobalParallelism],
  ['GET /v2/keys', keys.getKeys],
  ['POST /v2/keys/rotate', keys.rotateKeys],
  ['POST /v2/wait/**', events.wait],
  ['POST /v2/notify/**', events.notify],
  ['GET /v2/waiters/**', events.listWaiters],
  ['GET /v2/workflows/runs/*', runs.getRun],
  ['DELETE /v2/workflows/runs/*', runs.deleteRun],
  ['DELETE /v2/workflows/runs', runs.cancelRuns],
  ['GET /v2/workflows/events', runLogs.listLogs],
  ['DELETE /v2/workflows/dlq', dlq.deleteRunLetters],
  ['POST /v2/workflows/dlq/resume', runLetters.resume],
  ['POST /v2/workflows/dlq/restart', runLetters.restart],
  ['POST /v2/workflows/dlq/callback/*', runLetters.retryFailure],
  ['GET /v2/events', logs.listEvents],
  ['GET /v2/logs', logs.listEvents],
];

const compiled = routes.map(([route, handler]) => {
  const [method = '', path = ''] = route.split(' ');
  const pattern = path.replace(/\*\*?/g, (star) => (star === '**' ? '(.+)' : '([^/]+)'));
  return { method, pattern: new RegExp(`^${pattern}$`), isRaw: path.endsWith('**'), handler };
});

async function answer({ method, url }: Request, call: Call): Promise<Response> {
  const { pathname, search } = new URL(url);
  // A DELETE whose id is empty must not concern all.
  const path = method === 'DELETE' ? pathname : pathname.replace(/\/$/, '');
  for (const { method: own, pattern, isRaw, handler } of compiled) {
    // A destination keeps its own slash and query string.
    const match = own === method ? pattern.exec(isRaw ? pathname + search : path) : null;
    if (!match) continue;
    const parts = match.slice(1);
    const destination = isRaw ? parts.splice(-1) : [];
    return handler(call, ...parts.map(decoded), ...destination);
  }
  throw refusal(404, `Tock does not serve ${method} ${pathname.slice(0, 200)}.`);
}

/** The headers of a 429, as the client reads them. */
function rateLimitHeaders(detail: string, headers: Headers): Record<string, string> {
  const seconds = Number(headers.get('Retry-After') ?? 1);
  const [, limit = '0'] = /rate of (\d+) requests/.exec(detail) ?? [];
  return {
    'Burst-RateLimit-Limit': limit,
    'Burst-RateLimit-Remaining': '0',
    'Burst-RateLimit-Reset': String(Math.ceil(Date.now() / 1000) + seconds),
  };
}

/** The client shows the text of the body. */
async function refused(error: Error, c: Context<Env>): Promise<Response> {
  const answer = problem(error, c);
  const { status, detail, ...more } = (await answer.json()) as Record<string, string>;
  // The hints of Tock's statuses are about its own routes.
  const { hint } = error instanceof HTTPException ? ((error.cause ?? {}) as typeof more) : more;
  const retryAfter = answer.headers.get('Retry-After');
  const headers = {
    ...(retryAfter !== null && { 'Retry-After': retryAfter }),
    ...(answer.status === 429 && rateLimitHeaders(`${detail}`, answer.headers)),
  };
  const text = [detail, hint].filter(Boolean).join(' ');
  return Response.json({ error: text }, { status: Number(status), headers });
}

async function handle(c: Context<Env>, tock: CallTock): Promise<Response> {
  const { headers, url } = c.req.raw;
  try {
    return await answer(c.req.raw, {
      tock,
      env: c.env ?? {},
      headers,
      query: new URL(url).searchParams,
      bytes: () => readForeignBytes(c, tock),
    });
  } catch (error) {
    return await refused(error as Error, c);
  }
}

/** QStash's API, version 2. A message is a task with a push URL; see docs/compat/qstash.md. */
export const qstash: Adapter = {
  name: 'qstash',
  matches: ({ url }) => /^https?:\/\/[^/]+\/v2\//.test(url),
  keyOf: ({ headers }) =>
    /^Bearer +(\S+) *$/i.exec(headers.get('Authorization') ?? '')?.[1] ?? null,
  handle,
};
