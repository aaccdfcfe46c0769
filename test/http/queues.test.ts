import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

test('PUT creates a queue, and a second PUT changes only the named settings', async () => {
  const body = { lease_seconds: 30, max_attempts: 3 };
  const made = await tock.send('PUT /v1/queues/mail', { body });
  expect(made).toMatchObject({ status: 200, body: { name: 'mail', lease_seconds: 30, lanes: 8 } });
  const changed = await tock.send('PUT /v1/queues/mail', { body: { paused: true } });
  expect(changed.body).toEqual({ ...made.body, paused: true });
});

test('the default policy is the queue *, and new queues start with it', async () => {
  await tock.send('PUT /v1/queues/*', { body: { max_attempts: 7 } });
  await tock.add('fresh');
  const counts = { ready: 1, running: 0, waiting: 0, dead: 0 };
  const got = await tock.send('GET /v1/queues/fresh');
  expect(got.body).toMatchObject({ name: 'fresh', max_attempts: 7, ...counts });
  const none = { ready: 0, running: 0, waiting: 0, dead: 0, oldest_ready_at: null };
  expect((await tock.send('GET /v1/queues/*')).body).toMatchObject({ name: '*', ...none });
});

test('the HTTP API has the same limit for each setting as the database', async () => {
  const limits = {
    lease_seconds: [1, 86_400],
    max_attempts: [1, 1000],
    max_lost: [1, 1000],
    backoff_base_seconds: [0, 86_400],
    backoff_factor: [1, 10],
    backoff_cap_seconds: [0, 2_678_400],
    backoff_jitter: [0, 1],
    lanes: [1, 64],
    max_payload_bytes: [1024, 4_194_304],
    retention_seconds: [60, 315_360_000],
  };
  for (const [option, [least, most]] of Object.entries(limits) as [string, [number, number]][]) {
    for (const value of [least, most]) {
      const taken = await tock.send('PUT /v1/queues/limits', { body: { [option]: value } });
      expect(taken, `${option} ${value}`).toMatchObject({ status: 200, body: { [option]: value } });
    }
    for (const value of [least - 1, most + 1]) {
      const refused = await tock.send('PUT /v1/queues/limits', { body: { [option]: value } });
      expect(refused, `${option} ${value}`).toMatchObject({ status: 422, body: { field: option } });
      const put = 'select tock.put_queue(p_queue => $1, p_policy => $2)';
      await expect(tock.owner.query(put, ['limits', { [option]: value }])).rejects.toThrow();
    }
  }
});

test('each setting of queue_settings() is accepted by PUT and returned', async () => {
  const { rows } = await tock.owner.query('select * from tock.queue_settings()');
  const policy = Object.fromEntries(
    rows.map(({ name, kind, high, words }) => {
      if (kind === 'push') return [name, null];
      if (kind === 'flag') return [name, true];
      return [name, kind === 'word' ? words.at(-1) : high];
    }),
  );
  const put = await tock.send('PUT /v1/queues/settings', { body: policy });
  expect(put).toMatchObject({ status: 200, body: policy });
  expect((await tock.send('GET /v1/queues/settings')).body).toMatchObject(policy);
});

test('all queues are listed with their counts and the totals', async () => {
  await tock.add('counted', {}, {}, { delay_seconds: 60 });
  await tock.claim('counted');
  const { body } = await tock.send('GET /v1/queues');
  expect(body.queues).toContainEqual({
    name: 'counted',
    paused: false,
    ready: 1,
    running: 1,
    waiting: 1,
    dead: 0,
    oldest_ready_at: expect.any(String),
    waiting_for: { time: 1, concurrency_key: 0, dependency: 0, child: 0, event: 0 },
  });
  const stats = await tock.send('GET /v1/stats');
  expect(stats.body).toMatchObject({ queues: body.queues.length, waiting: 1, running: 1 });
  expect(stats.body.next_wake_at).toEqual(expect.any(String));
});

test('ended tasks are counted by state: up to 1,000 done ones, others among the newest 1,000', async () => {
  const ended = async () => (await tock.send('GET /v1/queues/ended/ended')).body.states;
  const all = { counted_all: true };
  const none = ['done', 'cancelled', 'expired'].map((state) => ({ state, tasks: 0, ...all }));
  expect(await ended()).toEqual(none);
  const add = (count: number) =>
    tock.post('queues/ended/tasks', { payloads: Array.from({ length: count }, () => null) });
  const { ids } = (await add(3)).body;
  await tock.post(`tasks/${ids[2]}/cancel`);
  const expires_at = new Date().toISOString();
  await tock.add('ended', { delay_seconds: 60, expires_at });
  const { lease } = await tock.claim('ended', { limit: 2 });
  await tock.post(`leases/${lease}/complete`, {});
  expect(await ended()).toEqual([
    { state: 'done', tasks: 2, ...all },
    { state: 'cancelled', tasks: 1, ...all },
    { state: 'expired', tasks: 1, ...all },
  ]);
  await add(1500);
  for (let n = 0; n < 2; n++) {
    const { lease } = await tock.claim('ended', { limit: 1000 });
    await tock.post(`leases/${lease}/complete`, {});
  }
  const { ids: newest } = (await add(1)).body;
  await tock.post(`tasks/${newest[0]}/cancel`);
  expect(await ended()).toEqual([
    { state: 'done', tasks: 1000, counted_all: false },
    { state: 'cancelled', tasks: 1, counted_all: false },
    { state: 'expired', tasks: 0, counted_all: false },
  ]);
});
