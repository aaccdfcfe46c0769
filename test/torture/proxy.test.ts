import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProxy, type Tearer } from '../../scripts/chaos/faults/proxy.ts';

let server: Server;
let proxy: Tearer;
let heard = 0;

beforeAll(async () => {
  server = createServer((_, response) => {
    heard++;
    response.setHeader('connection', 'close').end('x'.repeat(1000));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy = await openProxy((server.address() as AddressInfo).port, 1);
});
afterAll(() => {
  proxy.close();
  server.close();
});

const ask = () =>
  fetch(`http://127.0.0.1:${proxy.port}`)
    .then((response) => response.text())
    .then(
      (text) => text.length,
      () => 'no answer',
    );
const askOften = () => Promise.all(Array.from({ length: 20 }, ask));

test('without faults the proxy passes everything', async () => {
  expect(await askOften()).toEqual(Array.from({ length: 20 }, () => 1000));
});

test.each(['answers lost', 'answers cut'] as const)(
  'some connections are %s after the server has the request',
  async (way) => {
    const before = heard;
    proxy.tear(way);
    const answers = await askOften();
    proxy.tear(null);
    expect(answers).toContain('no answer');
    expect(answers).toContain(1000);
    expect(heard - before).toBe(20);
  },
);

test('refused connections never reach the server', async () => {
  const before = heard;
  proxy.tear('connections refused');
  expect(await ask()).toBe('no answer');
  proxy.tear(null);
  expect(heard).toBe(before);
  expect(await ask()).toBe(1000);
});
