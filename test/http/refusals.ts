import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rowCounts, type Send, type Service, service } from './service.ts';

export type Case = [what: string, status: number, field: string, options: Send];

export const json = (body: unknown): Send => ({ body });
export const raw = (text: BodyInit): Send => ({ raw: text });

let tock: Service;
let lease: string;
let task: string;
let before: Record<string, number>;

/** Starts the service for a file of refusals, with a lease and a waiting task in the queue q. */
export function serviceForRefusals(): void {
  beforeAll(async () => {
    tock = await service();
    const tasks = [{ payload: 1 }, { payload: 2 }, { payload: 3, delay_seconds: 600 }];
    const enqueued = await tock.send('POST /v1/queues/q/tasks', { body: { tasks } });
    task = enqueued.body.ids[2];
    const claimed = await tock.send('POST /v1/queues/q/claim', { body: { limit: 2 } });
    lease = claimed.body.lease;
    before = await rowCounts(tock.owner);
  });
  afterAll(() => tock.database.drop());
}

/** Sends each request and checks its refusal. `:lease` and `:task` in the route are replaced by real ones. */
export function testRefusals(route: string, cases: Case[]): void {
  describe(`${route} refuses`, () => {
    test.each(cases)('%s: %i %s', async (_what, status, field, options) => {
      const path = route.replace(':lease', lease).replace(':task', task);
      const reply = await tock.send(path, options);
      expect(reply).toMatchObject({ status, body: { status, field, detail: expect.any(String) } });
      expect(reply.headers.get('content-type')).toBe('application/problem+json');
      expect(reply.text).not.toMatch(/\bat .+:\d+|node_modules|\.ts\b/);
      expect(await rowCounts(tock.owner)).toEqual(before);
    });
  });
}
