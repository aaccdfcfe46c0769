import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { readBody } from '../http/body.ts';
import { withBodySlots, withSlot } from '../http/concurrency_limits.ts';
import { documented, json, shared } from '../http/document.ts';
import { type App, serve } from '../http/endpoint.ts';
import { readParams } from '../http/parameters.ts';
import { refusal } from '../http/problem.ts';
import * as s from '../http/schemas.ts';
import { problemSchema } from '../http/schemas.ts';
import { validate } from '../http/validate.ts';
import { reachOf } from '../nodes/reach.ts';

export const event = s
  .text(200)
  .describe(
    'The name of the event, such as orders/17/approved. A key for some queues needs the part before the first slash as a queue.',
  );

const queueOfEvent = "split_part($2, '/', 1)";
const accepted = (but: string) =>
  z.boolean().describe(`False if the event had a payload before${but}.`);

const tokenParams = z.strictObject({
  token: s.text(200).describe('The token of the link.'),
});
const used = 'The link was used before.';
const unknown = 'There is no such link, or its time is over.';
const problem = json(problemSchema, 'application/problem+json');
const tooLarge = async () => {
  throw refusal(413, 'The body is larger than 8 KiB.', { field: 'body' });
};
/** All calls with links share one place in the limits on calls at once. */
const linkKey = 'event links';

const signalSql = 'select tock.signal_by_link(p_token => $1, p_payload => $2::jsonb) as state';

/** POST /v1/events/{token} needs no key: the token is the right to signal one event, once. */
function signalByLink(app: App, connect: Connect): void {
  const route = documented({
    method: 'post',
    path: '/v1/events/{token}',
    operationId: 'signalByLink',
    tags: ['Tasks'],
    summary: 'Signal the event of a link',
    description:
      'The call needs no key, and a link works once. The body, a JSON object of up to 8 KiB, is the payload of the event.',
    security: [],
    request: {
      params: tokenParams,
      body: { ...json(z.looseObject({})), required: false },
    },
    responses: {
      200: {
        description: 'Whether this payload counts.',
        ...json(z.strictObject({ accepted: accepted('') })),
      },
      404: { description: unknown, ...problem },
      409: { description: used, ...problem },
      ...shared(400, 413, 415, 422, 429, 503),
    },
  });
  app.openAPIRegistry.registerPath(route);
  app.post(route.getRoutingPath(), async (c) => {
    const env = c.env ?? {};
    const { token } = validate(tokenParams, readParams(c));
    const { text } = await withBodySlots('enqueues', env, linkKey, c.req.raw.signal, (onGrowth) =>
      readBody(c, false, tooLarge, onGrowth),
    );
    const { reach } = reachOf(connect, env, 'signalByLink', {});
    const answer = await withSlot('enqueues', env, linkKey, c.req.raw.signal, () =>
      reach((send) =>
        send(async (query) => {
          const [row] = await query(signalSql, [token, text]);
          return row?.state === 'unknown' ? undefined : { body: row?.state as string };
        }),
      ),
    );
    const state = answer?.body;
    if (!state) throw refusal(404, unknown, { hint: 'Ask for a new one.' });
    if (state === 'used') throw refusal(409, used, { hint: 'Ask for a new one.' });
    c.set('changes', null);
    return c.json({ accepted: state === 'accepted' });
  });
}

/** Events for which tasks wait. */
export function events(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'post',
    path: '/v1/events',
    share: 'enqueues',
    operationId: 'signalEvent',
    tag: 'Tasks',
    summary: 'Give an event its payload, and wake the tasks that wait for it',
    description:
      'The first payload of an event counts, also for tasks that wait for it within the next 30 days.',
    returns: 'Whether this payload counts, and how many tasks it woke.',
    params: s.noParams,
    body: s.options({
      event,
      payload: s.anything.optional().describe('Any JSON of up to 256 KiB. Default: null.'),
      request_id: s.requestId.nullish(),
    }),
    needsBody: true,
    repeatable: true,
    statement: authorized(
      'enqueue',
      queueOfEvent,
      'v.accepted, v.woken',
      `tock.signal(p_event => $2, p_payload => $3::jsonb -> 'payload', p_request_id => $4) as v`,
    ),
    values: ({ body, text, requestId }) => [body.event, text, requestId],
    answer: z.strictObject({
      accepted: accepted(', unless that came with this request id'),
      woken: s.count.describe('How many tasks continue.'),
    }),
  });

  serve(app, connect, {
    method: 'post',
    path: '/v1/event-links',
    operationId: 'createEventLink',
    tag: 'Tasks',
    summary: 'Make a link that signals an event, without a key and once',
    description:
      'POST /v1/events/{token} signals the event. Whoever has the token can do so: send it only to those who may.',
    returns: 'The token, which is not stored, and its end.',
    params: s.noParams,
    body: s.options({
      event,
      valid_seconds: s
        .whole(1, 31_536_000)
        .nullish()
        .describe('How long the link works. Default: 604800, a week.'),
    }),
    needsBody: true,
    statement: authorized(
      'enqueue',
      queueOfEvent,
      'v.token, v.expires_at',
      'tock.create_event_link(p_event => $2, p_valid_seconds => coalesce($3::integer, 604800)) as v',
    ),
    values: ({ body }) => [body.event, body.valid_seconds],
    changes: () => [],
    answer: z.strictObject({ token: z.string(), expires_at: s.moment }),
  });

  signalByLink(app, connect);
}
