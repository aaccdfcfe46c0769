import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { createTock } from '../../client/index.ts';
import { createTock as createNodeTock, processName } from '../../client/node.ts';
import { there, useClientService } from './service.ts';

useClientService();

const name = `${hostname()}:${process.pid}`;
const once = { until: 'empty' } as const;

/** The workers in the claims of these calls. */
async function workersOf(calls: () => Promise<unknown>): Promise<unknown[]> {
  there.seen.length = 0;
  await calls();
  const claims = there.seen.filter(({ route }) => /claim$/.test(route));
  return [...new Set(claims.map(({ body }) => body.worker))];
}

test('in Node a worker without a name has the name of its process, which the server shows', async () => {
  const tock = createNodeTock(there.options);
  const id = await tock.enqueue('named', {});
  expect(await workersOf(() => tock.work('named', () => {}, once))).toEqual([name]);
  expect((await tock.task(id))?.runs).toMatchObject([{ worker: name, state: 'done' }]);
  expect(await tock.workers({ queue: 'named' })).toMatchObject([{ worker: name }]);
  const ends = [{ lease: crypto.randomUUID() }];
  expect(await workersOf(() => tock.claim('named'))).toEqual([name]);
  expect(await workersOf(() => tock.next('named', ends))).toEqual([name]);
  expect(await workersOf(() => tock.claimAny(['named', 'other']))).toEqual([name]);
});

test('a name that is given counts, and a claim with its request id is repeated under another', async () => {
  const request_id = 'the same claim';
  const tock = createNodeTock({ ...there.options, worker: 'ann' });
  const ben = { ...once, worker: 'ben' };
  expect(await workersOf(() => tock.work('given', () => {}, once))).toEqual(['ann']);
  expect(await workersOf(() => tock.work('given', () => {}, ben))).toEqual(['ben']);
  expect(await workersOf(() => tock.claim('given', { worker: 'cy' }))).toEqual(['cy']);
  await tock.enqueue('given', {});
  const first = await tock.claim('given', { request_id });
  const other = createTock({ ...there.options, worker: 'another process' });
  expect((await other.claim('given', { request_id }))?.lease).toBe(first?.lease);
});

test('without Node, and without the name of the host, a worker has no name', async () => {
  const tock = createTock(there.options);
  expect(await workersOf(() => tock.claim('nameless'))).toEqual([undefined]);
  expect(processName(7)).toBe(`${hostname()}:7`);
});
