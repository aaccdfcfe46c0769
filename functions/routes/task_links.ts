import { z } from '@hono/zod-openapi';
import { misconfigured } from '../database/errors.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { authorized } from '../http/authorize.ts';
import { type App, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';

const names = ['id', 'queue', 'tenant', 'unique_key', 'concurrency_key', 'trace_id'];
const placeholder = new RegExp(`^(${names.join('|')}|payload\\.[\\w-]{1,100})$`);

const isKnown = (url: string) =>
  [...url.matchAll(/\{([^{}]*)\}/g)].every(([, name = '']) => placeholder.test(name));

const link = z.strictObject({
  name: z.string().min(1).max(100),
  url: z
    .string()
    .max(2000)
    // The host must not depend on a task.
    .regex(/^https?:\/\/[^\s/?#\\@{}]+([/?#]\S*)?$/i, 'https:// or http://, and a host without {…}')
    .refine(isKnown, `the placeholders are {${names.join('}, {')}} and {payload.FIELD}`),
});
const setting = z.array(link).max(20);
type Links = z.output<typeof setting>;

const answer = z.strictObject({
  links: z.array(
    z.strictObject({
      name: z.string().describe('The text of the link.'),
      url: z.string().describe('The URL, with placeholders in braces for data of the task.'),
    }),
  ),
});

/** The links that the Worker's TOCK_TASK_LINKS describes; throws a 503 that says what is wrong with it. */
export function taskLinks({ TOCK_TASK_LINKS }: Bindings): Links {
  if (!TOCK_TASK_LINKS) return [];
  const hint =
    'set it to JSON like [{"name": "Logs", "url": "https://logs.example/?task={id}"}], or remove it';
  let value: unknown;
  try {
    value = JSON.parse(TOCK_TASK_LINKS);
  } catch {
    throw misconfigured('TOCK_TASK_LINKS is not JSON.', hint);
  }
  const { data, error } = setting.safeParse(value);
  if (data) return data;
  const { path = [], message } = error.issues[0] ?? {};
  const field = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  throw misconfigured(`TOCK_TASK_LINKS${field.join('')}: ${message}.`, hint);
}

/** GET /v1/task-links */
export function taskLinkTemplates(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/task-links',
    operationId: 'listTaskLinks',
    tag: 'Tasks',
    summary: 'List the links from a task to other systems',
    description:
      'The variable TOCK_TASK_LINKS of the Worker describes them. The dashboard fills in the placeholders.',
    returns: 'The links.',
    params: s.noParams,
    statement: authorized('read', 'null', "'[]'::json as links", '(select) as none'),
    values: () => [],
    finish: async (_body, env) => JSON.stringify({ links: taskLinks(env) }),
    answer,
  });
}
