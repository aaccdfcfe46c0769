import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Send, type Service, service } from '../../http/service.ts';

let tock: Service;
const ids: Record<string, string> = {};
const to = 'https://a.example/x';

async function publish(name: string, path = `publish/${to}`): Promise<void> {
  const { body } = await tock.send(`POST /v2/${path}`, { raw: 'text' });
  ids[name] = body.messageId;
}

beforeAll(async () => {
  tock = await service({ TOCK_COMPAT: 'qstash', TOCK_PUSH_SECRET: 'm'.repeat(32) });
  await publish('read');
  await publish('cancelled');
  await publish('dead');
  await publish('queued', `enqueue/mail/${to}`);
  await tock.send('POST /v2/queues', { body: { queueName: 'other' } });
  await tock.send('POST /v2/topics/group/endpoints', { body: { endpoints: [{ url: to }] } });
  const flow = { 'upstash-flow-control-key': 'k', 'upstash-flow-control-value': 'rate=1' };
  await tock.send(`POST /v2/publish/${to}`, { headers: flow });
  const cron = { 'upstash-cron': '0 5 * * *', 'upstash-schedule-id': 'nightly' };
  await tock.send(`POST /v2/schedules/${to}`, { headers: cron });
  await tock.send('POST /v1/queues/qstash/claim', { body: { limit: 3 } }).then(({ body }) => {
    const failures = body.tasks.map(({ id }: { id: string }) => ({ id, fatal: true }));
    return tock.send(`POST /v1/leases/${body.lease}/fail`, { body: { failures } });
  });
});
afterAll(() => tock.database.drop());

const headers = (own: Record<string, string>): Send => ({ headers: own });
const two = [{ destination: to }, { destination: to, queue: 'mail' }];

/** The statements of each route, where nothing has to be made first. */
const routes: [route: string, statements: number, Send?][] = [
  [`POST /v2/publish/${to}`, 1, { raw: 'text' }],
  [`POST /v2/enqueue/mail/${to}`, 1, { raw: 'text' }],
  [`POST /v2/publish/${to}`, 2, headers({ 'upstash-deduplication-id': 'd' })],
  [
    `POST /v2/publish/${to}`,
    2,
    headers({ 'upstash-flow-control-key': 'k', 'upstash-flow-control-value': 'rate=1' }),
  ],
  ['POST /v2/publish/group', 2],
  ['POST /v2/batch', 1, { body: [{ destination: to }, { destination: to }] }],
  ['POST /v2/batch', 4, { body: two }],
  ['GET /v2/messages/$read', 1],
  ['GET /v2/logs?messageIds=$read', 1],
  ['DELETE /v2/messages/$queued', 1],
  ['DELETE /v2/messages?messageIds=$cancelled', 1],
  ['GET /v2/dlq/$dead', 1],
  ['POST /v2/dlq/retry/$dead', 2],
  ['DELETE /v2/dlq/$read', 2],
  ['POST /v2/queues', 1, { body: { queueName: 'mail', parallelism: 2 } }],
  ['GET /v2/queues/mail', 1],
  ['POST /v2/queues/mail/pause', 2],
  ['DELETE /v2/queues/other', 1],
  [`POST /v2/schedules/${to}`, 2, headers({ 'upstash-cron': '0 5 * * *' })],
  ['GET /v2/schedules/nightly', 1],
  ['PATCH /v2/schedules/nightly/pause', 1],
  ['DELETE /v2/schedules/nightly', 1],
  ['GET /v2/topics/group', 1],
  ['POST /v2/topics/group/endpoints', 2, { body: { endpoints: [{ url: to }] } }],
  ['DELETE /v2/topics/group', 1],
  ['GET /v2/flowControl', 1],
  ['GET /v2/flowControl/k', 1],
  ['POST /v2/flowControl/k/pause', 1],
  ['GET /v2/globalParallelism', 1],
  ['GET /v2/keys', 1],
  ['POST /v2/keys/rotate', 1],
];

test.each(routes)('%s is %i statements', async (route, count, options = {}) => {
  const path = route.replace(/\$(\w+)/, (_, name) => ids[name] as string);
  tock.statements.length = 0;
  const { status, text } = await tock.send(path, options);
  expect(status, text).toBeLessThan(300);
  expect(tock.statements).toHaveLength(count);
});
