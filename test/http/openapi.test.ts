import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { wireFile, wireTypes } from '../../scripts/wire_types.ts';
import { fileService } from './file_service.ts';

// test/docs/reference.test.ts holds docs/reference/http.md to all routes, texts and limits of the document.
const tock = fileService();

type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters?: { description: string }[];
  responses: Record<string, { $ref?: string }>;
};

const load = async () => (await tock.send('GET /openapi.json', { key: null })).body;

/** Generates every object in a document. */
function* objects(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  yield value as Record<string, unknown>;
  for (const part of Object.values(value)) yield* objects(part);
}

test('every pattern in the document matches its example', async () => {
  const shaped = [...objects(await load())].filter(({ pattern }) => typeof pattern === 'string');
  const patterns = new Set(shaped.map(({ pattern }) => pattern));
  expect(patterns.size).toBeGreaterThanOrEqual(5);
  for (const { pattern, example } of shaped) {
    expect(example).toMatch(new RegExp(pattern as string, 'u'));
  }
});

test('every operation has an id of its own, a tag, texts and the refusals of its key', async () => {
  const { openapi, paths, tags, components } = await load();
  expect(openapi).toBe('3.1.0');
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
      const needsKey = !['/v1/health', '/v1/events/{token}'].includes(path);
      const wanted = needsKey ? ['401', '422', '429', '503'] : ['503'];
      expect(statuses, name).toEqual(expect.arrayContaining(wanted));
      for (const { $ref } of Object.values(operation.responses)) {
        if ($ref) expect(components.responses, name).toHaveProperty([$ref.split('/').at(-1) ?? '']);
      }
    }
  }
});

test('the options of a task over HTTP are those that the database checks', async () => {
  const { components } = await load();
  const { rows } = await tock.owner.query('select name from tock.extended_options()');
  const basic = ['payload', 'delay_seconds', 'run_at', 'priority', 'tenant', 'max_attempts'];
  expect(Object.keys(components.schemas.Task.properties).sort()).toEqual(
    [...basic, ...rows.map(({ name }) => name)].sort(),
  );
});

test('the document has the limits, the ban on unknown options, and the problem answer', async () => {
  const { paths, components } = await load();
  const claim = paths['/v1/queues/{queue}/claim'].post;
  expect(claim.requestBody.content['application/json'].schema).toMatchObject({
    additionalProperties: false,
    properties: { limit: { minimum: 1, maximum: 10_000, default: 1 } },
  });
  expect(claim.security).toEqual([{ key: [] }]);
  expect(claim.responses.default.content['application/problem+json'].schema).toEqual({
    $ref: '#/components/schemas/Problem',
  });
  expect(components.securitySchemes.key).toMatchObject({ type: 'http', scheme: 'bearer' });
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
