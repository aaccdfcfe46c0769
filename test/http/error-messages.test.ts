import { expect, test } from 'vitest';
import { createApp } from '../../functions/http/app.ts';
import { openApiDocument, operationsOf, type Schema } from '../../scripts/docs/openapi.ts';

// No request of this file reaches the database.
const app = createApp((_env, use) => use(async () => []));

type Refused = {
  detail: string;
  field: string;
  hint: string;
  errors?: { field: string; detail: string }[];
};

const document = await openApiDocument();

const values: Record<string, string> = {
  queue: 'q',
  pool: 'p',
  schedule: 's',
  worker: 'w',
  id: '1',
  lease: '00000000-0000-4000-8000-00000000000f',
  prefix: 'tock_00000000',
};

const bodies = operationsOf(document).flatMap(({ method, path, operation: { requestBody } }) => {
  const schema = requestBody?.content?.['application/json']?.schema;
  const route = path.replace(/{(\w+)}/g, (_, name) => values[name] as string);
  return schema ? [[`${method} ${route}`, schema] as const] : [];
});

async function send(route: string, body?: string) {
  const [method = '', path = ''] = route.split(' ');
  const headers = { authorization: 'Bearer k', 'content-type': 'application/json' };
  const reply = await app.request(path, { method, headers, body: body ?? null });
  return { status: reply.status, body: (await reply.json()) as Refused };
}

const wrong = [
  ...[null, 1, 1.5, -1, 1e30, true, '', 'x', '12345678901234567890123', 'x'.repeat(300)],
  ...[[], [1], [null], {}, { foo: 1 }],
];

/** Generates bodies with each wrong value in each place of the schema. */
function* wrongBodies(
  { $ref, anyOf = [], items, properties = {} }: Schema,
  put: (value: unknown) => unknown = (value) => value,
): Generator<unknown> {
  const schema = $ref && document.components.schemas[$ref.split('/').at(-1) ?? ''];
  if (schema) return yield* wrongBodies(schema, put);
  yield* wrong.map(put);
  for (const form of anyOf) yield* wrongBodies(form, put);
  if (items) yield* wrongBodies(items, (value) => put([value]));
  for (const [name, property] of Object.entries(properties)) {
    yield* wrongBodies(property, (value) => put({ [name]: value }));
  }
}

test.each(bodies)('%s says once for each wrong field what is allowed', async (route, schema) => {
  let refused = 0;
  for (const wrong of wrongBodies(schema)) {
    const sent = JSON.stringify(wrong);
    const { status, body } = await send(route, sent);
    if (status !== 422) continue;
    refused++;
    const { field, detail, errors = [{ field, detail }] } = body;
    // zod's own messages, such as "Invalid input: expected object, received number", contain these words.
    for (const error of errors)
      expect(error.detail, sent).not.toMatch(/invalid|expected|received/i);
    const messages = errors.map((error) => `${error.field}: ${error.detail}`);
    expect(messages, sent).toEqual([...new Set(messages)]);
  }
  expect(refused).toBeGreaterThan(0);
});

// A link takes any object.
const formed = bodies.filter(([route]) => !route.includes('/v1/events/'));
const forms = formed.map(([route, schema]) => {
  const every = schema.anyOf ?? [schema.$ref ? document.components.schemas.Changes : schema];
  const names = Object.keys(Object.assign({}, ...every.map((form) => form?.properties)));
  return [route, names.length > 0 ? names : ['none']] as const;
});

test.each(forms)('%s lists its options for an unknown one', async (route, names) => {
  const { body } = await send(route, '{"foo": 1}');
  const { errors = [] } = body;
  const errorsOfField = errors.filter(({ field }) => field === 'foo');
  expect(errorsOfField).toHaveLength(1);
  expect(errorsOfField[0]?.detail).toMatch(/^unknown option; options: /);
  const named = errorsOfField[0]?.detail.split(': ')[1]?.split(', ');
  expect(named?.sort()).toEqual([...names].sort());
});

test('only the unknown or invalid change is reported', async () => {
  for (const [body, field] of [
    ['{"foo": 1}', 'foo'],
    ['{"priority": "x"}', 'priority'],
  ] as const) {
    const { errors } = (await send('PATCH /v1/tasks/1', body)).body;
    expect(errors).toEqual([{ field, detail: expect.any(String) }]);
  }
});

const enqueue = 'POST /v1/queues/q/tasks';
const scopes = 'scopes: a list of one or more of enqueue, claim, read, admin';

test.each([
  ['POST /v1/keys', '{"name": "k", "scopes": []}', 422, scopes],
  [`${enqueue}?priority=1`, '{}', 422, 'priority: this route has no options in its query string'],
  [enqueue, undefined, 400, 'The request has no body.'],
  [enqueue, ' ', 400, 'The request has no body.'],
  [enqueue, 'payload=1', 400, 'The body is not JSON.'],
])('%s with the body %s is refused with %i: %s', async (route, sent, status, detail) => {
  const refused = await send(route, sent);
  expect(refused).toMatchObject({ status, body: { detail } });
  if (status !== 400) return;
  const hint = 'Send one JSON object in UTF-8; GET /openapi.json describes the route.';
  expect(refused.body).toMatchObject({ field: 'body', hint });
});
