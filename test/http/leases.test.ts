import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();
let count = 0;

/** Creates a queue with new tasks, and claims all of them in one lease. */
async function lease(...tasks: object[]) {
  const queue = `lease${++count}`;
  const ids = await tock.add(queue, ...tasks);
  const claimed = await tock.claim(queue, { limit: tasks.length });
  const end = (verb: string, body?: unknown) =>
    tock.send(`POST /v1/leases/${claimed.lease}/${verb}`, { body });
  return { queue, ids, end, until: new Date(claimed.leased_until) };
}

test('a whole lease is completed by an empty object, or by no body at all', async () => {
  for (const body of [{}, undefined]) {
    const { end } = await lease({}, {});
    expect((await end('complete', body)).body).toEqual({ completed: 2, refused: [] });
  }
});

test('an unknown or lost lease is a 409 for every call', async () => {
  const { end, queue } = await lease({});
  await tock.owner.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where closed_at is null",
  );
  await tock.owner.query('select tock.reap(p_sweep => true)');
  for (const verb of ['complete', 'fail', 'release', 'extend']) {
    const unknown = await tock.post(`leases/00000000-0000-4000-8000-00000000000f/${verb}`);
    for (const reply of [await end(verb, {}), unknown]) {
      expect(reply, verb).toMatchObject({ status: 409, body: { hint: expect.any(String) } });
    }
  }
  expect((await tock.claim(queue)).tasks).toMatchObject([{ attempt: 2 }]);
});

test('runs fail with an error each, and are retried after the given delay', async () => {
  const { ids, end, queue } = await lease({}, {}, {});
  const failures = [
    { id: ids[0], error: { name: 'Oops', message: 'no' }, retry_in_seconds: 0 },
    { id: ids[1], error: 'gone', fatal: true },
    { id: ids[2], retry_in_seconds: 5000 },
  ];
  expect((await end('fail', { failures })).body).toEqual({ failed: 3, dead: 1, refused: [] });
  expect(await tock.task(ids[1])).toMatchObject({ state: 'dead', error: 'gone' });
  const { run_at, runs } = await tock.task(ids[2]);
  expect(Math.floor((Date.parse(run_at) - Date.parse(runs[0].ended_at)) / 100_000)).toBe(50);
  const again = await tock.claim(queue, { wait_seconds: 5 });
  expect(again.tasks).toMatchObject([{ id: ids[0], attempt: 2 }]);
});

test('a whole lease fails with one error, or with an empty body', async () => {
  for (const [body, dead] of [
    [{ error: 'all', fatal: true }, 2],
    [undefined, 0],
  ] as const) {
    const { end } = await lease({}, {});
    expect((await end('fail', body)).body).toEqual({ failed: 2, dead, refused: [] });
  }
});

test('extend moves the end of a lease, and never back', async () => {
  const { end, until } = await lease({}, {});
  const { body } = await end('extend', { lease_seconds: 600 });
  expect(body).toMatchObject({ runs: 2 });
  expect(new Date(body.leased_until).getTime() - until.getTime()).toBeGreaterThan(500_000);
  for (const more of [{ lease_seconds: 1 }, undefined])
    expect((await end('extend', more)).body).toEqual(body);
});

test('extend counts the runs of each priority that has runs left', async () => {
  const { ids, end } = await lease({ priority: 0 }, { priority: 0 }, {}, {});
  for (const [ended, runs] of [
    [0, 4],
    [1, 2],
    [2, 2],
  ] as const) {
    await end('complete', { results: [{ id: ids[ended] }] });
    expect((await end('extend')).body).toMatchObject({ runs });
  }
});
