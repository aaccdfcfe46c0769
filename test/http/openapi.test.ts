import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { wireFile, wireTypes } from '../../scripts/wire_types.ts';
import { type Service, service } from './service.ts';

type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters?: { description: string }[];
  responses: Record<string, { $ref?: string }>;
};

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

test('the OpenAPI document needs no key and has every route', async () => {
  const { status, body } = await tock.send('GET /openapi.json', { key: null });
  expect(status).toBe(200);
  expect(body.openapi).toBe('3.1.0');
  const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.sort()).toEqual([
    'DELETE /v1/keys/{prefix}',
    'DELETE /v1/pools/{pool}/workers/{worker}',
    'DELETE /v1/queues/{queue}',
    'DELETE /v1/queues/{queue}/concurrency-keys/{concurrency_key}',
    'DELETE /v1/schedules/{schedule}',
    'DELETE /v1/tasks/{id}/payload',
    'GET /metrics',
    'GET /v1/archive',
    'GET /v1/archive/tasks',
    'GET /v1/audit-log',
    'GET /v1/bulk-changes',
    'GET /v1/bulk-changes/{id}',
    'GET /v1/doctor',
    'GET /v1/health',
    'GET /v1/key',
    'GET /v1/keys',
    'GET /v1/leases',
    'GET /v1/limits',
    'GET /v1/links',
    'GET /v1/maintenance',
    'GET /v1/next-fires',
    'GET /v1/overview',
    'GET /v1/pools',
    'GET /v1/pools/{pool}',
    'GET /v1/queues',
    'GET /v1/queues/{queue}',
    'GET /v1/queues/{queue}/concurrency-keys',
    'GET /v1/queues/{queue}/concurrency-keys/{concurrency_key}',
    'GET /v1/queues/{queue}/dead',
    'GET /v1/queues/{queue}/limits',
    'GET /v1/queues/{queue}/push-secret',
    'GET /v1/queues/{queue}/series',
    'GET /v1/queues/{queue}/why',
    'GET /v1/schedules',
    'GET /v1/schedules/{schedule}',
    'GET /v1/schedules/{schedule}/fires',
    'GET /v1/schedules/{schedule}/next',
    'GET /v1/series',
    'GET /v1/stats',
    'GET /v1/tasks',
    'GET /v1/tasks/{id}',
    'GET /v1/tasks/{id}/children',
    'GET /v1/tasks/{id}/parents',
    'GET /v1/workers',
    'PATCH /v1/keys/{prefix}',
    'PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}',
    'PATCH /v1/tasks/{id}',
    'POST /v1/archive/end',
    'POST /v1/archive/step',
    'POST /v1/bulk-changes/{id}/stop',
    'POST /v1/claim',
    'POST /v1/keys',
    'POST /v1/keys/{prefix}/rotate',
    'POST /v1/leases/{lease}/complete',
    'POST /v1/leases/{lease}/extend',
    'POST /v1/leases/{lease}/fail',
    'POST /v1/leases/{lease}/release',
    'POST /v1/pools/{pool}/assign',
    'POST /v1/pools/{pool}/assign-all',
    'POST /v1/pools/{pool}/take',
    'POST /v1/pools/{pool}/tasks',
    'POST /v1/pools/{pool}/unassign',
    'POST /v1/queues/{queue}/bulk-changes',
    'POST /v1/queues/{queue}/cancel',
    'POST /v1/queues/{queue}/claim',
    'POST /v1/queues/{queue}/claim-for-worker',
    'POST /v1/queues/{queue}/limits/reset',
    'POST /v1/queues/{queue}/purge',
    'POST /v1/queues/{queue}/push-secret/rotate',
    'POST /v1/queues/{queue}/redrive',
    'POST /v1/queues/{queue}/reprioritize',
    'POST /v1/queues/{queue}/tasks',
    'POST /v1/schedules/{schedule}/pause',
    'POST /v1/schedules/{schedule}/resume',
    'POST /v1/schedules/{schedule}/run',
    'POST /v1/tasks/cancel',
    'POST /v1/tasks/move',
    'POST /v1/tasks/reprioritize',
    'POST /v1/tasks/rerun',
    'POST /v1/tasks/{id}/cancel',
    'POST /v1/tasks/{id}/rerun',
    'POST /v1/tick',
    'PUT /v1/archive',
    'PUT /v1/pools/{pool}/workers/{worker}',
    'PUT /v1/queues/{queue}',
    'PUT /v1/schedules/{schedule}',
  ]);
});

/** Generates every object in a document. */
function* objects(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  yield value as Record<string, unknown>;
  for (const part of Object.values(value)) yield* objects(part);
}

test('every pattern in the document matches its example', async () => {
  const { body } = await tock.send('GET /openapi.json');
  const shaped = [...objects(body)].filter(({ pattern }) => typeof pattern === 'string');
  const patterns = new Set(shaped.map(({ pattern }) => pattern));
  expect(patterns.size).toBeGreaterThanOrEqual(5);
  for (const { pattern, example } of shaped) {
    expect(example).toMatch(new RegExp(pattern as string, 'u'));
  }
});

test('the document explains how a lease behaves', async () => {
  const { paths } = (await tock.send('GET /openapi.json')).body;
  const { fail, extend } = {
    fail: paths['/v1/leases/{lease}/fail'].post,
    extend: paths['/v1/leases/{lease}/extend'].post,
  };
  expect(fail.description).toMatch(/^`error` is optional: {} or an empty body fails all/);
  expect(extend.description).toContain('It never moves the deadline back');
  const { runs } = extend.responses[200].content['application/json'].schema.properties;
  expect(runs.description).toContain('including those that have ended since');
});

test('every operation has an id of its own, a tag, texts and the refusals of its key', async () => {
  const { paths, tags, components } = (await tock.send('GET /openapi.json')).body;
  const known = tags.map(({ name }: { name: string }) => name);
  const ids = new Set<string>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods as Record<string, Operation>)) {
      const name = `${method} ${path}`;
      expect(operation.operationId, name).toMatch(/^[a-z][A-Za-z]+$/);
      expect(ids, name).not.toContain(operation.operationId);
      ids.add(operation.operationId);
      expect(known, name).toContain(operation.tags[0]);
      expect(operation.summary, name).toMatch(/^[A-Z].*[^.]$/);
      for (const { description } of [operation, ...(operation.parameters ?? [])]) {
        expect(description, name).toMatch(/^[\s\S]+[.]$/);
      }
      const statuses = Object.keys(operation.responses);
      const wanted = path === '/v1/health' ? ['503'] : ['401', '422', '429', '503'];
      expect(statuses, name).toEqual(expect.arrayContaining(wanted));
      for (const { $ref } of Object.values(operation.responses)) {
        if ($ref) expect(components.responses, name).toHaveProperty([$ref.split('/').at(-1) ?? '']);
      }
    }
  }
});

test('the options of a task over HTTP are those that the database checks', async () => {
  const { body } = await tock.send('GET /openapi.json');
  const { rows } = await tock.owner.query('select name from tock.extended_options()');
  const basic = ['payload', 'delay_seconds', 'run_at', 'priority', 'tenant', 'max_attempts'];
  expect(Object.keys(body.components.schemas.Task.properties).sort()).toEqual(
    [...basic, ...rows.map(({ name }) => name)].sort(),
  );
});

test('the document has the limits, the ban on unknown options, and the problem answer', async () => {
  const { body } = await tock.send('GET /openapi.json');
  const claim = body.paths['/v1/queues/{queue}/claim'].post;
  const { schema } = claim.requestBody.content['application/json'];
  expect(schema).toMatchObject({
    additionalProperties: false,
    properties: { limit: { minimum: 1, maximum: 10_000, default: 1 } },
  });
  expect(claim.security).toEqual([{ key: [] }]);
  expect(claim.responses.default.content['application/problem+json'].schema).toEqual({
    $ref: '#/components/schemas/Problem',
  });
  expect(body.components.schemas.Task.properties.priority).toMatchObject({
    minimum: 0,
    maximum: 9,
  });
  expect(body.components.schemas.Changes).toMatchObject({
    additionalProperties: false,
    properties: { priority: { maximum: 9 }, delay_seconds: { minimum: 0 }, payload: {} },
  });
  expect(body.components.schemas.Policy.properties.retention_seconds).toMatchObject({
    minimum: 60,
    maximum: 315_360_000,
  });
  const claimed = claim.responses[200].content['application/json'].schema;
  expect(claimed.properties.state.enum).toEqual([
    'found',
    'empty',
    'paused',
    'limited',
    'busy',
    'passing',
  ]);
  expect(body.components.securitySchemes.key).toMatchObject({ type: 'http', scheme: 'bearer' });
});

test('the document has the parameters of query strings with their limits', async () => {
  const { paths } = (await tock.send('GET /openapi.json')).body;
  expect(paths['/v1/tasks/{id}'].get.parameters).toContainEqual({
    name: 'wait_seconds',
    in: 'query',
    required: false,
    description: expect.stringContaining('Default: 0.'),
    schema: expect.objectContaining({ type: 'integer', minimum: 0, maximum: 30 }),
  });
});

test('client/wire.ts is generated from the document: npm run wire', async () => {
  expect(readFileSync(wireFile, 'utf8')).toBe(await wireTypes());
});
