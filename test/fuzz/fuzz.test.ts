import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeSchema } from '../sql/describe_schema.ts';
import { checkRequest } from './check.ts';
import type { Operation } from './document.ts';
import { cursors, invalidValues } from './hostile_values.ts';
import { garbageOf, invalidOf, type Plan, validOf } from './requests.ts';
import { runs, seeds } from './seeds.ts';
import { type Target, target } from './target.ts';

let at: Target;
let schema: string;
beforeAll(async () => {
  at = await target();
  schema = await describeSchema(at.tock.owner);
});
afterAll(() => at.tock.database.drop());

const done = new Set<string>();
const refused = new Set<string>();

/** Checks random requests of all routes, which `of` generates. */
async function holdAll(of: (operation: Operation) => fc.Arbitrary<Plan>): Promise<void> {
  const plans = fc.oneof(...at.operations.map(of));
  const property = fc.asyncProperty(plans, async (plan) => {
    const { status } = await checkRequest(at, plan);
    (status < 400 ? done : refused).add(plan.name);
  });
  for (const seed of seeds) await fc.assert(property, { seed, numRuns: runs });
}

const time = { timeout: 600_000 };

test('valid requests are answered as the document says, and stored as sent', time, async () => {
  await holdAll(validOf);
  expect(done.size).toBeGreaterThan(15 * seeds.length);
});

test('requests with one mistake are refused with the field, and change nothing', time, async () => {
  await holdAll(invalidOf);
  expect(refused.size).toBeGreaterThan(15 * seeds.length);
});

test('meaningless requests are refused and change nothing', time, () => holdAll(garbageOf));

const plain = { params: { queue: 'a' }, query: [], headers: {}, body: null };

test('any JSON payload is stored as sent, or refused with the field', time, async () => {
  const [name, path] = ['POST /v1/queues/{queue}/tasks', '/v1/queues/{queue}/tasks'];
  const statuses = new Set<number>();
  for (const wrong of invalidValues) {
    const raw = `{"payload": {"n": [${wrong}]}}`;
    const { status } = await checkRequest(at, { ...plain, name, method: 'POST', path, raw });
    statuses.add(status);
  }
  expect([...statuses].sort()).toEqual([201, 422]);
});

test.each(['', '&state=waiting', '&state=dead'])(
  'GET /v1/tasks?queue=a%s refuses a cursor that no call has returned',
  time,
  async (state) => {
    for (const cursor of cursors) {
      const path = `/v1/tasks?queue=a${state}&cursor=${cursor}`;
      const sent = await checkRequest(at, { ...plain, name: 'GET', method: 'GET', path });
      const answer = expect.stringContaining('"cursor"');
      expect(sent, cursor).toMatchObject({ status: 422, answer });
    }
  },
);

test('no request has injected a statement or changed the schema', async () => {
  const texts = new Set(at.tock.statements.map(({ text }) => text));
  expect(texts.size).toBeGreaterThan(30);
  // Each route has one statement; enqueue has a second one for a Worker that pushes.
  expect(texts.size).toBeLessThanOrEqual(at.operations.length + 1);
  expect(await describeSchema(at.tock.owner)).toBe(schema);
});
