import { beforeAll, expect, test } from 'vitest';
import { RetryIn, type Tock } from '../../client/index.ts';
import { createTestTock } from '../../client/testing.ts';
import { queue, there, useClientService } from './service.ts';
import { inDatabase, inMemory, type Subject } from './stores.ts';

useClientService();
let real: Subject;
beforeAll(() => {
  real = inDatabase(there);
});

/** Calls that the server refuses, and that the in-memory Tock must refuse too. */
const refusals: Record<string, (tock: Tock, queue: string) => Promise<unknown>> = {
  'a queue of no such name': (tock) => tock.enqueue('no such!', 1),
  'a payload that is too large': (tock, q) => tock.enqueue(q, 'x'.repeat(300_000)),
  'a payload with NUL': (tock, q) => tock.enqueue(q, 'a\0b'),
  'a time that is none': (tock, q) => tock.enqueue(q, 1, { run_at: 'tomorrow' }),
  'two times': (tock, q) =>
    tock.enqueue(q, 1, { delay_seconds: 1, run_at: '2030-01-01T00:00:00Z' }),
  'no attempts': (tock, q) => tock.enqueue(q, 1, { max_attempts: 0 }),
  'an empty key': (tock, q) => tock.enqueue(q, 1, { unique_key: '' }),
  'headers that are no object': (tock, q) => tock.enqueue(q, 1, { headers: [] as never }),
  'a header of two lines': (tock, q) => tock.enqueue(q, 1, { headers: { a: 'b\nc' } }),
  'too many headers': (tock, q) =>
    tock.enqueue(q, 1, {
      headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`h${n}`, '1'])),
    }),
  'the second of two tasks': (tock, q) =>
    tock.enqueueMany(q, [{ payload: 1 }, { payload: 2, priority: 12 }]),
  'a claim of too many': (tock, q) => tock.claim(q, { limit: 20_000 }),
  'a lease of no time': (tock, q) => tock.claim(q, { lease_seconds: 0 }),
  'a claim from one queue twice': (tock, q) => tock.claimAny([q, q]),
  'an id that is none': (tock) => tock.task('abc'),
  'a lease that is none': (tock) => tock.leases.complete('abc'),
  'a cancel of none': (tock) => tock.cancel([]),
  async 'a request id of another call'(tock, q) {
    await tock.enqueue(q, 1, { request_id: q });
    return tock.enqueue(q, 2, { request_id: q });
  },
  async 'a claim again whose lease has ended'(tock, q) {
    await tock.enqueue(q, 1);
    await (await tock.claim(q, { request_id: q }))?.complete();
    return tock.claim(q, { request_id: q });
  },
  async 'a task that is ended twice'(tock, q) {
    const id = await tock.enqueue(q, 1);
    return (await tock.claim(q))?.complete([{ id }, { id }]);
  },
};

test.each(Object.entries(refusals))(
  '%s is refused by the in-memory Tock and by the server',
  async (_, ask) => {
    const q = queue();
    const refusalOf = (tock: Tock) =>
      ask(tock, q).then(
        () => 'nothing',
        ({ status, field }) => ({ status, field }),
      );
    const wanted = await refusalOf(real.tock);
    expect(wanted).toMatchObject({ status: expect.any(Number) });
    expect(await refusalOf(createTestTock())).toEqual(wanted);
  },
);

type Told = { progress(): void; stage(stage: string): void; spawn(spawn: object): void };
const ends: Record<string, (context: Told) => unknown> = {
  'a stage of a task without a pipeline': ({ stage }) => stage('next'),
  'a result that is too large': () => 'x'.repeat(300_000),
  'nothing spawned': ({ spawn }) => spawn({ tasks: [] }),
  'a spawned task of no such priority': ({ spawn }) =>
    spawn({ queue: 'other', tasks: [{ payload: 1, priority: 77 }] }),
  'a time to try again that is none': () => {
    throw new RetryIn(-5);
  },
};

test.each(Object.entries(ends))(
  '%s fails its task in the in-memory Tock and with the server',
  async (_, end) => {
    for (const { tock } of [real, inMemory()]) {
      const q = queue();
      await tock.enqueue(q, 1);
      const handler = (_: unknown, context: object) => end(context as never);
      const worked = await tock.work(q, handler, { until: 'empty' });
      expect(worked).toMatchObject({ done: 0, failed: 1 });
    }
  },
);
