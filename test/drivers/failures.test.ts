import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { connect } from '../../functions/database/connect.ts';
import { statusOf } from '../../functions/database/errors.ts';
import {
  type DriverName,
  driverNames,
  made,
  startDriverDatabase,
  useDriverDatabase,
} from './drivers.ts';

useDriverDatabase();
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

async function listening(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A proxy that answers every request with the same status, also an upgrade to a WebSocket. */
function answering(status: number): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end('no'));
  server.on('upgrade', (_request, socket) => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`));
  return listening(server);
}

/** A proxy that closes a connection when it receives data. */
function hangingUp(): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.destroy());
  });
  return listening(server);
}

async function failure(way: DriverName, TOCK_NEON_PROXY: string): Promise<{ code: string }> {
  const env = { ...made.env(way), TOCK_NEON_PROXY };
  return connect(env, (query) => query('select 1 as one')).then(
    () => Promise.reject(new Error('it succeeded')),
    (error) => error,
  );
}

describe.each<DriverName>(['neon-http', 'neon-ws'])('%s', (way) => {
  test('a proxy that is absent, refuses or closes connections counts as an unreachable database', async () => {
    const proxies = [
      'http://127.0.0.1:1',
      await answering(404),
      await answering(500),
      await answering(429),
      await hangingUp(),
    ];
    for (const proxy of proxies) {
      const error = await failure(way, proxy);
      expect(error).toBeInstanceOf(Error);
      expect(error.code, proxy).toMatch(/^(08001|08006|53300)$/);
      expect(statusOf(error.code)).toBe(503);
    }
  });

  test('a wrong password is refused, and the answer does not mention it', async () => {
    const env = made.env(way);
    const wrong = new URL(env.DATABASE_URL ?? '');
    wrong.password = 'wr0ng';
    const attempt = connect({ ...env, DATABASE_URL: wrong.href }, (query) => query('select 1'));
    await expect(attempt).rejects.toMatchObject({ message: expect.not.stringContaining('wr0ng') });
  });
});

test.each(driverNames)(
  'a session that ends during a statement counts as an unreachable database: %s',
  async (way) => {
    const watcher = await made.database.connect(made.database.superUrl);
    const asleep = connect(made.env(way), (query) => query("select pg_sleep(20), 'asleep'"));
    const outcome = asleep.catch((error: { code: string }) => error.code);
    const kill = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = $1 and query like '%pg_sleep(20)%' and pid <> pg_backend_pid()
        and wait_event = 'PgSleep'`;
    const killed = async () => (await watcher.query(kill, [made.database.name])).rowCount;
    await expect.poll(killed).toBe(1);
    expect(statusOf(String(await outcome))).toBe(503);
  },
);

test('a WebSocket that breaks during a statement counts as an unreachable database', async () => {
  const broken = await startDriverDatabase();
  const asleep = connect(broken.env('neon-ws'), (query) => query("select pg_sleep(20), 'broken'"));
  const outcome = asleep.catch((error: { code: string }) => error.code);
  await expect.poll(() => broken.bridge.statements.length).toBe(1);
  await broken.drop();
  expect(await outcome).toBe('08006');
});
