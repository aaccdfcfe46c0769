import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock } from '../../client/index.ts';
import { createTock as createNodeTock, processName } from '../../client/node.ts';
import { type ClientService, startClientService } from './service.ts';

let there: ClientService;
beforeAll(async () => {
  there = await startClientService();
});
afterAll(() => there.database.drop());

const name = `${hostname()}:${process.pid}`;

/** The workers in the claims of these calls. */
async function workersOf(calls: () => Promise<unknown>): Promise<unknown[]> {
  there.seen.length = 0;
  await calls();
  return there.seen.filter(({ route }) => /claim$/.test(route)).map(({ body }) => body.worker);
}

test('in Node a worker without a name has the name of its process, which the server shows', async () => {
  const tock = createNodeTock(there.options);
  const id = await tock.enqueue('named', {});
  const once = { until: 'empty' } as const;
  expect(new Set(await workersOf(() => tock.work('named', () => {}, once)))).toEqual(
    new Set([name]),
  );
  expect((await tock.task(id))?.runs).toMatchObject([{ worker: name, state: 'done' }]);
  expect(await tock.workers({ queue: 'named' })).toMatchObject([{ worker: name }]);
  expect(await workersOf(() => tock.claim('named'))).toEqual([name]);
  expect(await workersOf(() => tock.next('named', [{ lease: crypto.randomUUID() }]))).toEqual([
    name,
  ]);
  expect(await workersOf(() => tock.claimAny(['named', 'other']))).toEqual([name]);
});

test('a name that is given counts', async () => {
  const tock = createNodeTock({ ...there.options, worker: 'ann' });
  const once = { until: 'empty' } as const;
  expect(await workersOf(() => tock.work('given', () => {}, once))).toEqual(['ann']);
  expect(await workersOf(() => tock.work('given', () => {}, { ...once, worker: 'ben' }))).toEqual([
    'ben',
  ]);
  expect(await workersOf(() => tock.claim('given', { worker: 'cy' }))).toEqual(['cy']);
});

test('a claim with a request id is repeated by another process', async () => {
  const request_id = 'the same claim';
  const tock = createNodeTock(there.options);
  await tock.enqueue('again', {});
  const first = await tock.claim('again', { request_id });
  const other = createTock({ ...there.options, worker: 'another process' });
  expect((await other.claim('again', { request_id }))?.lease).toBe(first?.lease);
});

test('without Node, and without the name of the host, a worker has no name', async () => {
  const tock = createTock(there.options);
  expect(await workersOf(() => tock.claim('nameless'))).toEqual([undefined]);
  expect(processName(7)).toBe(`${hostname()}:7`);
});
