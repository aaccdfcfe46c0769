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

const webAddress = z
  .string()
  .max(2000)
  // The host must not depend on a task.
  .regex(/^https?:\/\/[^\s/?#\\@{}]+([/?#]\S*)?$/i, 'https:// or http://, and a host without {…}');
const link = z.strictObject({ name: z.string().min(1).max(100), url: webAddress });
const taskLink = link.extend({
  url: webAddress.refine(
    isKnown,
    `the placeholders are {${names.join('}, {')}} and {payload.FIELD}`,
  ),
});
type Link = z.output<typeof link>;

/** The list of links in a variable of the Worker; throws a 503 that says what is wrong with it. */
function linksIn(
  env: Bindings,
  variable: 'TOCK_TASK_LINKS' | 'TOCK_INSTALLATIONS',
  schema: z.ZodType<Link>,
  example: string,
): Link[] {
  const text = env[variable];
  if (!text) return [];
  const hint = `set it to JSON like ${example}, or remove it`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw misconfigured(`${variable} is not JSON.`, hint);
  }
  const { data, error } = z.array(schema).max(20).safeParse(value);
  if (data) return data;
  const { path = [], message } = error.issues[0] ?? {};
  const field = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  throw misconfigured(`${variable}${field.join('')}: ${message}.`, hint);
}

/** What the variables of the Worker say. */
export const linksOf = (env: Bindings) => ({
  task_links: linksIn(
    env,
    'TOCK_TASK_LINKS',
    taskLink,
    '[{"name": "Logs", "url": "https://logs.example/?task={id}"}]',
  ),
  installations: linksIn(
    env,
    'TOCK_INSTALLATIONS',
    link,
    '[{"name": "staging", "url": "https://tock.staging.example/"}]',
  ),
});

const answer = z.strictObject({
  task_links: z
    .array(
      z.strictObject({
        name: z.string().describe('The text of the link.'),
        url: z.string().describe('The URL, with placeholders in braces for data of the task.'),
      }),
    )
    .describe('The links from a task to other systems, from the variable TOCK_TASK_LINKS.'),
  installations: z
    .array(
      z.strictObject({
        name: z.string().describe('The name of the installation.'),
        url: z.string().describe('The URL of its dashboard.'),
      }),
    )
    .describe('The other installations of Tock, from the variable TOCK_INSTALLATIONS.'),
});

/** GET /v1/links */
export function links(app: App, connect: Connect): void {
  serve(app, connect, {
    method: 'get',
    path: '/v1/links',
    operationId: 'listLinks',
    tag: 'Operations',
    summary: 'List the links of the dashboard to other systems',
    description:
      'Variables of the Worker describe them. The dashboard fills in the placeholders of the links from a task.',
    returns: 'The links.',
    params: s.noParams,
    statement: authorized('read', 'null', "'[]'::json as links", '(select) as none'),
    values: () => [],
    finish: async (_body, env) => JSON.stringify(linksOf(env)),
    answer,
  });
}
