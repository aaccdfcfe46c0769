import { expect, test } from 'vitest';
import { Fatal } from '../../client/errors.ts';
import { deliver } from '../../functions/push/deliver.ts';
import { type Lookup, postGuarded } from '../../functions/push/node.ts';
import { conditionTimeout } from '../timeout.ts';
import { claimToPush, env, secretsAt, there, useReceiver } from './receiver.ts';

useReceiver();

const init = () => ({
  headers: { a: 'b' },
  body: '"é"',
  signal: AbortSignal.timeout(conditionTimeout),
});

/** A lookup that returns another address each time. */
function rebinding(...addresses: string[]) {
  const requests: string[] = [];
  const lookup: Lookup = async (host) => {
    requests.push(host);
    return [{ address: addresses[requests.length - 1] ?? '127.0.0.1', family: 4 }];
  };
  return { requests, lookup };
}

const named = () => `http://hook.example:${new URL(there.url).port}/named`;

test('the connection goes to the address that was checked, because the name is resolved once', async () => {
  const { requests, lookup } = rebinding('127.0.0.1', '8.8.8.8');
  const judged: string[] = [];
  const post = postGuarded(lookup, (address) => judged.push(address) > 0);
  const response = await post(named(), init());
  expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
  expect([requests, judged]).toEqual([['hook.example'], ['127.0.0.1']]);
  expect(there.at('/named')[0]).toMatchObject({ body: '"é"', headers: { a: 'b' } });
});

test('a request keeps its own method and bytes, and may have no body', async () => {
  const { lookup } = rebinding('127.0.0.1', '127.0.0.1');
  const post = postGuarded(lookup, () => true);
  const url = named().replace('named', 'own');
  const bytes = Uint8Array.from([0x61, 0xff, 0]);
  await post(url, { ...init(), method: 'PUT', body: bytes });
  await post(url, { ...init(), method: 'GET', body: null });
  const [put, get] = there.at('/own');
  expect(put).toMatchObject({
    method: 'PUT',
    body: 'a\ufffd\0',
    headers: { 'content-length': '3' },
  });
  expect(get).toMatchObject({ method: 'GET', body: '' });
  expect(get?.headers).not.toHaveProperty('content-length');
});

test('a name that resolves to a private address is refused', async () => {
  const before = there.got.length;
  const { lookup } = rebinding('127.0.0.1');
  const message = 'hook.example is 127.0.0.1, which is not a public address';
  await expect(postGuarded(lookup)(named(), init())).rejects.toThrow(message);
  await expect(postGuarded()(there.url, init())).rejects.toThrow(/is not a public address$/);
  const { signal } = init();
  const delivery = { env, post: postGuarded(lookup), secrets: await secretsAt(), signal };
  const error = await deliver(named(), claimToPush(), delivery).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(Fatal);
  expect(error.name).toBe('NotAllowed');
  expect(error.message).toContain(message);
  expect(there.got).toHaveLength(before);
});

test('a name with several addresses is refused if one is private', async () => {
  const lookup: Lookup = async () => [
    { address: '8.8.8.8', family: 4 },
    { address: '::1', family: 6 },
  ];
  await expect(postGuarded(lookup)('https://hook.example/', init())).rejects.toThrow('::1');
});

test('a push without an answer ends when its signal aborts', async () => {
  const controller = new AbortController();
  there.on('/named', () => controller.abort());
  const { lookup } = rebinding('127.0.0.1');
  const post = postGuarded(lookup, () => true);
  const sent = post(named(), { ...init(), signal: controller.signal });
  await expect(sent).rejects.toThrow();
});

test('an upgrade to another protocol counts as no answer', async () => {
  there.on('/named', (response) => {
    response.socket?.write('HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
  });
  const { lookup } = rebinding('127.0.0.1');
  await expect(postGuarded(lookup, () => true)(named(), init())).rejects.toThrow(/closed|hang up/);
});

test('the body of an answer that may have none is not read', async () => {
  there.on('/named', (response) => {
    response.writeHead(205);
    const timer = setInterval(() => response.write('x'), 5);
    response.on('close', () => clearInterval(timer));
  });
  const { lookup } = rebinding('127.0.0.1');
  const answer = await postGuarded(lookup, () => true)(named(), init());
  expect([answer.status, answer.body]).toEqual([205, null]);
  await expect.poll(() => there.open()).toBe(0);
});
