import { afterAll, beforeAll, expect, test } from 'vitest';
import * as statements from '../../../client/sql/statements.ts';
import type { CallTock } from '../../../functions/compat/adapter.ts';
import { cancelMessages } from '../../../functions/compat/qstash/messages.ts';
import { type Service, service } from '../../http/service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service({ TOCK_COMPAT: 'qstash', TOCK_PUSH_SECRET: 'm'.repeat(32) });
});
afterAll(() => tock.database.drop());

const publish = async (): Promise<string> =>
  (await tock.send('POST /v2/publish/https://a.example/x', { raw: 'text' })).body.messageId;

/** The number of messages that a call for all cancels. `after` runs once, after the first call of Tock with this path. */
async function cancelAll(part: string, after: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  const call: CallTock = async (method, path, body) => {
    const answer = await tock.send(`${method} ${path}`, { body });
    if (!isOver && path.includes(part)) {
      isOver = true;
      await after();
    }
    return answer;
  };
  const request = {
    tock: call,
    env: {},
    headers: new Headers(),
    bytes: async () => new Uint8Array(),
  };
  const answer = await cancelMessages({ ...request, query: new URLSearchParams({ count: '100' }) });
  return (await answer.json()).cancelled;
}

/** Claims a message, as a delivery does; returns the parameters that fail it. */
async function startDelivery(): Promise<[lease: string, failures: string]> {
  const { lease, tasks } = (await tock.send('POST /v1/queues/qstash/claim', { body: {} })).body;
  return [lease, JSON.stringify([{ id: tasks[0].id, retry_in_seconds: 60 }])];
}

test('all messages are cancelled, also one whose delivery fails during the search', async () => {
  await publish();
  const failure = await startDelivery();
  const fail = () => tock.owner.query(statements.fail, failure);
  expect(await cancelAll('state=waiting', fail)).toBe(1);
});

test('all messages are cancelled, also one that a delivery adds during the search', async () => {
  await publish();
  await startDelivery();
  expect(await cancelAll('state=running', publish)).toBe(2);
});

test('a message whose delivery fails at the moment of the cancel is not tried again', async () => {
  const id = await publish();
  const failure = await startDelivery();
  await tock.owner.query('begin');
  await tock.owner.query(statements.fail, failure);
  await cancelAll('/cancel', () => tock.owner.query('commit'));
  expect((await tock.send(`GET /v1/tasks/${id}`)).body.state).toBe('cancelled');
});
