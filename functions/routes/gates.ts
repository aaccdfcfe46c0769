import { z } from '@hono/zod-openapi';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const settings = s.options({
  gate_limit: s.orNull(s.whole(1, 1000)),
  gate_rate_limit: s.orNull(s.whole(1, 1_000_000)),
  gate_rate_seconds: s.orNull(s.whole(1, 86_400)),
  gate_rate_burst: s.orNull(s.whole(1, 1_000_000)),
  paused: s.flag,
});
const gate = settings.extend({ gate: z.string(), inside: z.array(s.id), waiting: s.count });

const columns = `g.gate, g.paused, g.gate_limit, g.gate_rate_limit, g.gate_rate_seconds, g.gate_rate_burst,
  g.inside::text[], g.waiting`;
const list = '/v1/queues/{queue}/gates';
const path = `${list}/{gate}`;
const params = z.strictObject({ queue: s.queueName, gate: s.text(200) });
const none = {
  status: 404,
  detail: 'There is no gate of this name.',
  hint: 'A gate is made when a task names it, or by PATCH.',
} as const;

/** Gates of a queue: who is inside, how many stand before it, and its settings. */
export function gates(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: list,
    summary: 'Gates of a queue, the first 1,000 by name',
    params: z.strictObject({ queue: s.queueName }),
    statement: authorized(
      'read',
      '$2',
      "coalesce(json_agg(v order by v.gate), '[]') as gates",
      `(select ${columns} from tock.gates(p_queue => $2, p_limit => 1000) as g) as v`,
    ),
    values: ({ params }) => [params.queue],
    answer: z.strictObject({ gates: z.array(gate) }),
  });

  serve(app, connect, {
    method: 'get',
    path,
    summary: 'A gate: who is inside, and how many wait',
    params,
    statement: authorized('read', '$2', columns, 'tock.gates(p_queue => $2, p_gate => $3) as g'),
    values: ({ params }) => [params.queue, params.gate],
    answer: gate,
    none,
  });

  serve(app, connect, {
    method: 'patch',
    path,
    summary: "Set a gate's limit or rate, or pause it; null goes by the queue's setting again",
    params,
    body: settings.partial(),
    needsBody: true,
    statement: authorized(
      'admin',
      '$2',
      'g.gate, g.paused, g.gate_limit, g.gate_rate_limit, g.gate_rate_seconds, g.gate_rate_burst',
      'tock.put_gate(p_queue => $2, p_gate => $3, p_settings => $4::jsonb) as g',
    ),
    values: ({ params, text }) => [params.queue, params.gate, text],
    answer: settings.extend({ gate: z.string() }),
  });

  serve(app, connect, {
    method: 'delete',
    path,
    summary:
      "Reset a gate: the queue's settings, not paused, its bucket full; who stands at it stays",
    params,
    statement: authorized(
      'admin',
      '$2',
      'r.reset',
      '(select x.reset from tock.reset_gate(p_queue => $2, p_gate => $3) as x (reset) where x.reset) as r',
    ),
    values: ({ params }) => [params.queue, params.gate],
    answer: z.strictObject({ reset: s.flag }),
    none,
  });
}
