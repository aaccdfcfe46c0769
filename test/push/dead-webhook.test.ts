import { afterAll, beforeAll, expect, test } from 'vitest';
import { drain } from '../../functions/consumers/drain.ts';
import { createApp } from '../../functions/http/app.ts';
import { withPush } from '../../functions/push/consumers.ts';
import { secretsOf } from '../../functions/push/secret.ts';
import { type Service, service } from '../http/service.ts';
import { makeDue, promote, value } from '../sql/verbs.ts';
import { type Receiver, receiver, verify } from './receiver.ts';

let tock: Service;
let there: Receiver;
const guarded = { TOCK_PUSH_SECRET: 'm'.repeat(32) };
const env = { ...guarded, TOCK_PUSH_PRIVATE: 'allow' };

beforeAll(async () => {
  tock = await service();
  there = await receiver();
});
afterAll(async () => {
  await there?.close();
  await tock?.database.drop();
});

/** Sets a queue's policy through a Worker with these bindings. */
async function put(queue: string, policy: object, bindings: object) {
  const headers = { authorization: `Bearer ${tock.key}`, 'content-type': 'application/json' };
  const init = { method: 'PUT', headers, body: JSON.stringify(policy) };
  const answer = await createApp(tock.connect).request(`/v1/queues/${queue}`, init, bindings);
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  return { status: answer.status, body: (await answer.json()) as any };
}

const pushed = () => drain(tock.connect, env, withPush([]), { on_error: () => {} });

test('a dead_webhook is refused by a Worker that could not send it, and shown by one that can', async () => {
  const dead_webhook = { url: `${there.url}/died` };
  const fields = [
    await put('mail', { dead_webhook }, {}),
    await put('mail', { dead_webhook }, guarded),
    await put('mail', { dead_webhook: { url: 'https://example.com/', to: 1 } }, env),
  ];
  expect(fields.map(({ status, body }) => [status, body.field])).toEqual([
    [422, 'dead_webhook.url'],
    [422, 'dead_webhook.url'],
    [422, 'dead_webhook.to'],
  ]);
  const unsigned = await put('mail', { dead_webhook: { url: 'https://example.com/' } }, {});
  expect([unsigned.status, unsigned.body.field]).toEqual([422, 'dead_webhook']);
  expect((await put('mail', { dead_webhook }, env)).body).toMatchObject({ dead_webhook });
  expect((await tock.send('GET /v1/queues/mail')).body).toMatchObject({ dead_webhook });
});

test('a webhook to an endpoint that was down is repeated, signed and with the same id', async () => {
  there.on('/died', (response, _got, count) => response.writeHead(count === 1 ? 503 : 204).end());
  const sent = await tock.send('POST /v1/queues/mail/tasks', { body: { payload: { to: 'ann' } } });
  const [id] = sent.body.ids;
  const claimed = await tock.send('POST /v1/queues/mail/claim', { body: {} });
  const body = { failures: [{ id, fatal: true, error: { message: 'no such address' } }] };
  await tock.send(`POST /v1/leases/${claimed.body.lease}/fail`, { body });
  await value(tock.owner, "select tock.run_maintenance('send_dead_task_events')");
  expect(await pushed()).toMatchObject({ done: 0, failed: 1 });
  await makeDue(tock.owner, 'tock-webhooks');
  await promote(tock.owner);
  expect(await pushed()).toMatchObject({ done: 1, failed: 0 });
  const [down, up, ...more] = there.at('/died');
  expect(more).toEqual([]);
  expect(up?.headers['webhook-id']).toBe(down?.headers['webhook-id']);
  const of = "select queue, generation, previous_until from tock.push_secret('tock-webhooks')";
  const [secret] = (await secretsOf(env, (await tock.owner.query(of)).rows[0])).current;
  expect(verify(secret as string, up as never)).toEqual({
    type: 'tasks.died',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: {
      queue: 'mail',
      deaths: 1,
      first_died_at: expect.any(String),
      last_died_at: expect.any(String),
      errors: [{ error: 'no such address', deaths: 1 }],
      ids: [id],
    },
  });
});
