import { beforeAll, expect, test } from 'vitest';
import { useQstash, type World, world } from './world.ts';

useQstash();
let qstash: World['qstash'];
beforeAll(() => {
  qstash = world.qstash;
});

test('a queue of parallelism 1 delivers one message after the other, also while one is retried', async () => {
  const queue = qstash.queue({ queueName: 'in-order' });
  const url = world.on('/ordered', (response, _delivery, count) => {
    response.writeHead(count === 1 ? 500 : 200).end();
  });
  for (const body of ['a', 'b', 'c']) await queue.enqueue({ url, body });
  const bodies = () => world.at('/ordered').map(({ body }) => body);
  await world.deliver();
  expect(bodies()).toEqual(['a']);
  expect((await queue.get()).lag).toBe(3);
  await world.deliverLater('qstash:in-order');
  expect(bodies()).toEqual(['a', 'a', 'b', 'c']);
  expect((await queue.get()).lag).toBe(0);
});

test('a queue delivers at most as many messages at once as its parallelism', async () => {
  const queue = qstash.queue({ queueName: 'two' });
  await queue.upsert({ parallelism: 2 });
  const open: (() => void)[] = [];
  let most = 0;
  const url = world.on('/two', (response) => {
    most = Math.max(
      most,
      open.push(() => response.end()),
    );
    if (open.length < 2) return;
    for (const answer of open.splice(0)) answer();
  });
  for (let n = 0; n < 6; n++) await queue.enqueue({ url, body: String(n) });
  await world.deliver();
  expect([world.at('/two').length, most]).toEqual([6, 2]);
});

test('a queue is made by its first message, paused, resumed, listed and deleted', async () => {
  const queueName = '_first-use';
  const queue = qstash.queue({ queueName });
  const url = world.on('/queued', 200);
  const { messageId } = await queue.enqueueJSON({ url, body: 1 });
  expect((await qstash.messages.get(messageId)).queueName).toBe(queueName);
  await queue.pause();
  expect(await queue.get()).toMatchObject({
    name: queueName,
    parallelism: 1,
    paused: true,
    lag: 1,
  });
  await world.deliver();
  expect(world.at('/queued')).toEqual([]);
  await queue.resume();
  await world.deliver();
  expect(world.at('/queued')).toHaveLength(1);
  expect((await queue.list()).map(({ name }) => name)).toContain(queueName);
  await queue.delete();
  expect((await queue.list()).map(({ name }) => name)).not.toContain(queueName);
  await expect(queue.get()).rejects.toThrow('no queue');
  await expect(queue.pause()).rejects.toThrow('no queue');
});

test('a queue of Tock that has no message is no queue of QStash', async () => {
  await world.tock.send('PUT /v1/queues/mail', { body: {} });
  expect((await qstash.queue().list()).map(({ name }) => name)).not.toContain('mail');
  await expect(qstash.queue({ queueName: 'mail' }).delete()).rejects.toThrow('no queue');
});

test('a flow control key limits how many messages run at once, and can be paused', async () => {
  const url = world.on('/flow', 200);
  const flowControl = { key: 'a key', parallelism: 2, rate: 50, period: '1m' } as const;
  const { messageId } = await qstash.publish({ url, flowControl });
  expect(await qstash.messages.get(messageId)).toMatchObject({
    flowControlKey: 'a key',
    parallelism: 2,
    rate: 50,
    ratePerSecond: 50,
    period: 60,
  });
  await qstash.flowControl.pause('a key');
  await world.deliver();
  expect(world.at('/flow')).toEqual([]);
  expect(await qstash.flowControl.get('a key')).toMatchObject({
    flowControlKey: 'a key',
    parallelismMax: 2,
    rateMax: 50,
    ratePeriod: 60,
    waitListSize: 1,
    isPaused: true,
  });
  await qstash.flowControl.resume('a key');
  await world.deliver();
  expect(world.at('/flow')).toHaveLength(1);
  expect(await qstash.flowControl.getGlobalParallelism()).toEqual({
    parallelismMax: 0,
    parallelismCount: 0,
  });
  await expect(qstash.flowControl.pin('a key', { parallelism: 1 })).rejects.toThrow('not serve');
  const queue = qstash.queue({ queueName: 'flow' });
  await expect(queue.enqueue({ url, flowControl })).rejects.toThrow('its own parallelism');
});

test('a schedule sends its message, and can be changed, paused, listed and deleted', async () => {
  const destination = world.on('/scheduled', 200);
  const { scheduleId } = await qstash.schedules.create({
    destination,
    cron: 'CRON_TZ=Europe/Berlin 0 4 * * * ',
    body: 'b',
    method: 'PATCH',
    retries: 5,
    delay: 0,
    queueName: 'scheduled',
    callback: `${destination}?done`,
    headers: { 'x-own': 'v' },
  });
  const run = `POST /v1/schedules/qstash:${scheduleId}/run`;
  const { id } = (await world.tock.send(run, { body: {} })).body;
  await world.deliver();
  expect(world.at('/scheduled')[0]).toMatchObject({
    method: 'PATCH',
    body: 'b',
    verified: true,
    headers: { 'upstash-schedule-id': scheduleId, 'upstash-message-id': id, 'x-own': 'v' },
  });
  expect(world.at('/scheduled?done')).toHaveLength(1);
  const { messageId } = await qstash.publish({
    url: destination,
    headers: { 'Upstash-Cron': '0 5 * * *', 'Upstash-Schedule-Id': scheduleId },
  });
  expect(messageId).toBeUndefined();
  expect(await qstash.schedules.get(scheduleId)).toMatchObject({
    scheduleId,
    destination,
    cron: '0 5 * * *',
    method: 'POST',
    retries: 3,
    isPaused: false,
    nextScheduleTime: expect.any(Number),
  });
  await qstash.schedules.pause({ schedule: scheduleId });
  expect((await qstash.schedules.get(scheduleId)).isPaused).toBe(true);
  await qstash.schedules.resume({ schedule: scheduleId });
  expect((await qstash.schedules.list()).map((schedule) => schedule.scheduleId)).toEqual([
    scheduleId,
  ]);
  await qstash.schedules.delete(scheduleId);
  await expect(qstash.schedules.get(scheduleId)).rejects.toThrow('not found');
  await expect(qstash.schedules.pause({ schedule: scheduleId })).rejects.toThrow('not found');
});

test('all messages are cancelled, however many newer tasks the other queues of Tock have', async () => {
  const url = world.on('/before-many', 200);
  await qstash.publish({ url });
  await world.tock.owner.query(
    "select tock.enqueue_payloads('elsewhere', (select json_agg(n) from generate_series(1, 50000) n))",
  );
  expect(await qstash.messages.cancel({ all: true })).toEqual({ cancelled: 1 });
  expect(await qstash.messages.cancel({ all: true })).toEqual({ cancelled: 0 });
});

test('messages are cancelled by id, by filter and all at once', async () => {
  const url = world.on('/cancelled', 200);
  const publish = (label: string, flow = label) =>
    qstash.publish({ url, delay: '10d', label, flowControl: { key: flow, parallelism: 1 } });
  const [a, b] = [await publish('a'), await publish('b')];
  for (const label of ['c', 'd', 'e', 'e']) await publish(label);
  expect(await qstash.messages.cancel([a.messageId, b.messageId, 'nonsense'])).toEqual({
    cancelled: 2,
  });
  // An empty value must not mean all.
  for (const route of ['messages?label=', 'messages?queueName=', 'messages/', 'messages?labeel=x'])
    expect((await world.send(`DELETE /v2/${route}`)).status, route).toBeGreaterThanOrEqual(400);
  const { host } = new URL(url);
  const cancel = (filter: object) => qstash.messages.cancel({ filter } as never);
  expect(await cancel({ label: 'c', host: 'other.example' })).toEqual({ cancelled: 0 });
  expect(await cancel({ flowControlKey: ['c', 'd'], host, path: '/cancelled' })).toEqual({
    cancelled: 2,
  });
  expect(await qstash.messages.cancel({ all: true, count: 1 })).toEqual({ cancelled: 1 });
  expect(await qstash.messages.cancel({ all: true })).toEqual({ cancelled: 1 });
  await world.deliverLater();
  expect(world.at('/cancelled')).toEqual([]);
});
