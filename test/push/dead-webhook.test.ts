import { afterAll, beforeAll, expect, test } from 'vitest';
import { drain } from '../../functions/consumers/drain.ts';
import { createApp } from '../../functions/http/app.ts';
import { withPush } from '../../functions/push/consumers.ts';
import { secretsOf } from '../../functions/push/secret.ts';
import { type Service, service } from '../http/service.ts';
import { makeDue, promote, value } from '../sql/verbs.ts';
import { env, there, useReceiver, verify } from './receiver.ts';

useReceiver();
let tock: Service;
const guarded = { TOCK_PUSH_SECRET: env.TOCK_PUSH_SECRET };

beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

/** Sets the queue's policy through a Worker with these bindings. */
async function put(policy: object, bindings: object) {
  const headers = { authorization: `Bearer ${tock.key}`, 'content-type': 'application/json' };
  const init = { method: 'PUT', headers, body: JSON.stringify(policy) };
  const answer = await createApp(tock.connect).request('/v1/queues/mail', init, bindings);
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  return { body: (await answer.json()) as any };
}

const pushed = () => drain(tock.connect, env, withPush([]), { on_error: () => {} });

test('a dead_webhook is refused by a Worker that could not send it, and shown by one that can', async () => {
  const dead_webhook = { url: `${there.url}/died` };
  const url = 'https://example.com/';
  const fields = [
    (await put({ dead_webhook }, guarded)).body.field,
    (await put({ dead_webhook: { url, to: 1 } }, env)).body.field,
    (await put({ dead_webhook: { url } }, {})).body.field,
  ];
  expect(fields).toEqual(['dead_webhook.url', 'dead_webhook.to', 'dead_webhook']);
  expect((await put({ dead_webhook }, env)).body).toMatchObject({ dead_webhook });
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
      ...{ queue: 'mail', deaths: 1, ids: [id] },
      first_died_at: expect.any(String),
      last_died_at: expect.any(String),
      errors: [{ error: 'no such address', deaths: 1 }],
    },
  });
});
