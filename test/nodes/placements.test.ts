import { expect, test } from 'vitest';
import { keyOfId, keyOfLease, mayMissNodes, placements } from '../../functions/nodes/placements.ts';
import { openApiDocument, operationsOf } from '../../scripts/docs/openapi.ts';

type Named = { operationId: string };

const operations = async () =>
  operationsOf(await openApiDocument()).map(
    ({ operation }) => operation as typeof operation & Named,
  );

test('every route says to which nodes its calls go', async () => {
  const ids = (await operations()).map(({ operationId }) => operationId);
  expect(Object.keys(placements).sort()).toEqual(ids.sort());
});

test('a placement without a key for each call has one way for the others', () => {
  const ways = ['all', 'each', 'ids', 'keys', 'any', 'first', 'queues', 'numbered', 'refused'];
  for (const [operationId, placement] of Object.entries(placements)) {
    const own = ways.filter((way) => way in placement);
    expect(own.length, operationId).toBeLessThanOrEqual(1);
    expect(own.length + Number(placement.key !== undefined), operationId).toBeGreaterThan(0);
  }
});

test('the document has the missing nodes of each route that asks all', async () => {
  for (const { operationId, responses } of await operations()) {
    const answer = responses[200] ?? responses[201];
    const text = JSON.stringify(answer);
    const isJson = text.includes('"application/json"');
    expect(text.includes('Tock-Missing-Nodes'), operationId).toBe(mayMissNodes(operationId));
    expect(text.includes('"missing_nodes"'), operationId).toBe(mayMissNodes(operationId) && isJson);
  }
});

test('an id and a lease name their range', () => {
  expect(keyOfId(String((7n << 53n) + 123n))).toBe(':7');
  expect(keyOfId(String((1023n << 53n) + 1n))).toBe(':1023');
  expect(keyOfId('1048577')).toBe(':0');
  const lease = (segment: number) =>
    `00000001-0000-4000-8000-00000${segment.toString(16).padStart(7, '0')}`;
  expect(keyOfLease(lease(5))).toBe(':0');
  expect(keyOfLease(lease((2 << 18) + 5))).toBe(':2');
  expect(keyOfLease(lease((1023 << 18) + 5).toUpperCase())).toBe(':1023');
});
