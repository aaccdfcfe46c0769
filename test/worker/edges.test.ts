import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../scripts/bundle.ts';
import { type SilentProxy, startSilentProxy } from '../drivers/silent_proxy.ts';
import { type Served, serveBundle } from './workerd.ts';

let hole: SilentProxy;
let worker: Served;
beforeAll(async () => {
  hole = await startSilentProxy();
  const { code } = await bundle();
  const DATABASE_URL = `postgres://u:p@127.0.0.1:${hole.port}/d`;
  worker = await serveBundle(code, { DATABASE_URL });
});
afterAll(async () => {
  await worker?.stop();
  await hole?.close();
});

const GiB = 2 ** 30;
const piece = Buffer.alloc(64 * 1024, ' ');
const chunk = Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]);

type Uploaded = { status: number | null; sent: number };

/** Sends a head, then an endless body as fast as the server reads. Returns the answer and the number of bytes sent. */
function upload(...head: string[]): Promise<Uploaded> {
  return new Promise((resolve) => {
    const socket: Socket = connect(worker.port, '127.0.0.1');
    let sent = 0;
    let output = '';
    const over = () => {
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(output) ?? [];
      socket.destroy();
      resolve({ status: status ? Number(status) : null, sent });
    };
    const more = () => {
      while (sent < GiB && !socket.destroyed) {
        sent += piece.length;
        if (!socket.write(chunk)) return;
      }
    };
    socket.on('data', (bytes) => {
      output += bytes.toString('latin1');
      over();
    });
    socket.on('error', over);
    socket.on('close', over);
    socket.on('drain', more);
    socket.write(
      `${['POST /v1/queues/q/tasks HTTP/1.1', 'Host: t', ...head].join('\r\n')}\r\n\r\n`,
    );
    more();
  });
}

/** Repeats upload() until it gets a status: if the connection closes while it sends, it may not see the answer. */
async function uploaded(...head: string[]): Promise<number> {
  for (;;) {
    const { status, sent } = await upload(...head);
    expect(sent).toBeLessThan(GiB / 32);
    if (status !== null) return status;
  }
}

const key = 'Authorization: Bearer tock_1';
const chunked = 'Transfer-Encoding: chunked';

test('a huge body is not read without a key, over the size limit, or before the key is checked', async () => {
  expect(await uploaded(chunked)).toBe(401);
  expect(await uploaded(key, `Content-Length: ${GiB}`)).toBe(413);
  // The database, which must check the key, never answers.
  expect(await uploaded(key, chunked)).toBe(503);
  await expect.poll(hole.open).toBe(0);
});

test('headers are limited by workerd, and URLs by Tock', async () => {
  const ask = (path: string, headers: Record<string, string>) =>
    fetch(`${worker.url}${path}`, { headers }).then(({ status }) => status);
  expect(await ask('/openapi.json', { 'x-large': 'x'.repeat(32_000) })).toBe(200);
  expect(await ask('/openapi.json', { 'x-large': 'x'.repeat(1_000_000) })).toBe(431);
  expect(await ask(`/openapi.json?${'x'.repeat(9000)}`, {})).toBe(414);
});
