import { afterEach, expect, test, vi } from 'vitest';
import { alarmNotifier } from '../../functions/alarm/notify.ts';
import { connect } from '../../functions/database/connect.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { neonUrl } from './drivers.ts';
import {
  acceptLogin,
  type SilentProxy,
  sendHalfResponse,
  sendHalfRow,
  startSilentProxy,
} from './silent_proxy.ts';

// All timeouts are a hundredth of their value: 5 s become 50 ms.
vi.mock('../../functions/timeouts.ts', async (original) => {
  const bounds = Object.entries(await original<Record<string, number>>());
  return Object.fromEntries(bounds.map(([name, ms]) => [name, ms / 100]));
});
vi.spyOn(console, 'error').mockImplementation(() => {});

const app = createApp(connect);
const holes: SilentProxy[] = [];
afterEach(async () => {
  for (const hole of holes.splice(0)) await hole.close();
});

const pg = (port: number): Bindings => ({ DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/d` });
const neon = (port: number, TOCK_DRIVER: string): Bindings => ({
  DATABASE_URL: neonUrl('postgres://u:p@127.0.0.1:1/d'),
  TOCK_NEON_PROXY: `http://127.0.0.1:${port}`,
  TOCK_DRIVER,
});

type Case = [name: string, env: (port: number) => Bindings, ...answers: (string | Buffer)[]];
const switching = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n';

const silent: Case[] = [
  ['pg, at login', pg],
  ['pg, half a login', pg, acceptLogin.subarray(0, 9)],
  ['pg, a statement', pg, acceptLogin],
  ['pg, half an answer', pg, acceptLogin, sendHalfRow],
  ['neon-http, a statement', (port) => neon(port, 'neon-http')],
  ['neon-http, half an answer', (port) => neon(port, 'neon-http'), sendHalfResponse],
  ['neon-ws, the WebSocket', (port) => neon(port, 'neon-ws')],
  ['neon-ws, half an upgrade', (port) => neon(port, 'neon-ws'), switching],
  [
    'hyperdrive, a statement',
    (port) => ({ HYPERDRIVE: { connectionString: pg(port).DATABASE_URL ?? '' } }),
    acceptLogin,
  ],
];

test.each(silent)(
  'a database that stops answering gives a 503: %s',
  async (_name, env, ...answers) => {
    const hole = await startSilentProxy(...answers);
    holes.push(hole);
    const headers = { authorization: 'Bearer tock_1' };
    const reply = await app.request('/v1/queues', { headers }, env(hole.port));
    expect((await app.request('/v1/health', {}, env(hole.port))).status).toBe(503);
    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toBe('1');
    expect(await reply.json()).toMatchObject({ type: '/errors/TK503' });
    await expect.poll(hole.open).toBe(0);
  },
);

test('a notification that gets no answer is retried a limited number of times', async () => {
  const fetch = vi.fn(
    (_url: string, init?: RequestInit) =>
      new Promise<Response>((_, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      }),
  );
  const ALARM = { idFromName: () => 'tock', get: () => ({ fetch }) };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const telling = alarmNotifier()({ ALARM }, { changed: null, passOn: [] });
  let over = false;
  void telling.then(() => {
    over = true;
  });
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(500);
  }
  vi.useRealTimers();
  expect(fetch).toHaveBeenCalledTimes(5);
});
