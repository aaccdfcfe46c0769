import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

test("the wait after a failure follows the queue's backoff, the task's, or the worker's delay", async () => {
  const policy = {
    backoff_kind: 'linear',
    backoff_base_seconds: 300,
    backoff_cap_seconds: 86_400,
    backoff_jitter: 0,
  };
  expect((await tock.send('PUT /v1/queues/seed', { body: policy })).body).toMatchObject(policy);
  const backoff = { kind: 'fixed', base_seconds: 20_000 };
  const tasks = [{ payload: 300 }, { payload: 20_000, backoff }, { payload: 7000, backoff }];
  const made = await tock.send('POST /v1/queues/seed/tasks', { body: { tasks } });
  expect(made.status).toBe(201);
  for (let taken = 0; taken < 3; ) {
    const { body } = await tock.send('POST /v1/queues/seed/claim', { body: { limit: 3 } });
    const failures = body.tasks.map(({ id, payload }: { id: string; payload: number }) =>
      payload === 7000 ? { id, retry_in_seconds: 7000 } : { id },
    );
    const failed = await tock.send(`POST /v1/leases/${body.lease}/fail`, { body: { failures } });
    expect(failed.body).toMatchObject({ failed: failures.length, dead: 0 });
    taken += failures.length;
  }
  for (const id of made.body.ids) {
    const { body } = await tock.send(`GET /v1/tasks/${id}`);
    expect(body).toMatchObject({ state: 'waiting', attempt: 2, lost: 0 });
    expect(body.options).toEqual(body.payload === 300 ? null : { backoff });
    const waits = Date.parse(body.run_at) - Date.parse(body.runs[0].ended_at);
    // The wait counts from the failure, which ends the run in the same statement.
    expect(Math.floor(waits / 100_000)).toBe(Math.floor(body.payload / 100));
  }
});

test.each([
  [{ backoff: { kind: 'cubic' } }, 'backoff.kind'],
  [{ backoff: { jitter: 2 } }, 'backoff.jitter'],
  [{ backoff: { every: 2 } }, 'backoff.every'],
  [{ tasks: [{}, { backoff: 5 }] }, 'tasks[1].backoff'],
])('%o is refused with the field', async (body, field) => {
  const refused = await tock.send('POST /v1/queues/refused/tasks', { body });
  expect(refused).toMatchObject({ status: 422, body: { field } });
});
