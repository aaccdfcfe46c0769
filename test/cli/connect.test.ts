import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { pooling } from '../../cli/diagnosis.ts';
import { withDatabase } from '../../migrate/connect.ts';

/** How each connection began: with a request for TLS, or with a login in clear text. */
const begun: string[] = [];
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', (bytes: Buffer) => {
    begun.push(bytes.readInt32BE(4) === 80_877_103 ? 'TLS' : 'in the clear');
    socket.destroy();
  });
});
let port: number;

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  port = (server.address() as AddressInfo).port;
  // pg warns that a later version will change the meaning of some modes.
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
});
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(() => server.close());

// A connection to 0.0.0.0 reaches this machine, but the address is not one of the local names that Tock knows.
const elsewhere = () => `postgres://ann:s3cret@0.0.0.0:${port}/app`;

/** How a connection to a URL begins, or that it is refused before it begins. */
async function beginning(url: string): Promise<string> {
  begun.length = 0;
  const error = await withDatabase(url, () => Promise.resolve()).catch((error) => error);
  if (!/without TLS/.test(error.message)) return begun.join();
  expect(begun).toEqual([]);
  expect(error).toMatchObject({ exitCode: 2, message: expect.not.stringContaining('s3cret') });
  expect(error.message).toMatch(/Add sslmode=verify-full to the URL/);
  return 'refused';
}

test.each([
  ['', 'refused'],
  ['sslmode=', 'refused'],
  ['ssl=', 'refused'],
  ['ssl=false', 'refused'],
  ['sslmode=verify-full&sslmode=disable', 'refused'],
  ['sslmode=disable', 'in the clear'],
  ['ssl=true&sslmode=disable', 'in the clear'],
  ['sslmode=disable&sslmode=verify-full', 'TLS'],
  ['sslmode=verify-full', 'TLS'],
  ['sslmode=VERIFY-FULL', 'TLS'],
  ['sslmode=DISABLE', 'TLS'],
  ['sslmode=require', 'TLS'],
  ['sslmode=prefer', 'TLS'],
  ['sslmode=allow', 'TLS'],
  ['sslmode=no-verify', 'TLS'],
  ['ssl=true', 'TLS'],
])('to another host with "%s" the connection is: %s', async (parameters, how) => {
  expect(await beginning(`${elsewhere()}?${parameters}`)).toBe(how);
});

test('the check of TLS uses the host of the connection, wherever it is set', async () => {
  expect(await beginning(`${elsewhere()}?host=`)).toBe('refused');
  expect(await beginning(`postgres://localhost:${port}/app?host=0.0.0.0`)).toBe('refused');
  const twice = `postgres://localhost:${port}/app?host=localhost&host=0.0.0.0`;
  expect(await beginning(twice)).toBe('refused');
  vi.stubEnv('PGHOST', '0.0.0.0');
  expect(await beginning(`postgres:///app?port=${port}`)).toBe('refused');
});

test('PGSSLMODE can require TLS, but only the URL can disable it', async () => {
  vi.stubEnv('PGSSLMODE', 'verify-full');
  expect(await beginning(elsewhere())).toBe('TLS');
  vi.stubEnv('PGSSLMODE', 'disable');
  expect(await beginning(elsewhere())).toBe('refused');
});

test('to this machine a connection needs no TLS', async () => {
  for (const host of ['localhost', '127.0.0.1', 'app.localhost', '%2Fvar%2Frun']) {
    expect(await beginning(`postgres://ann@${host}:${port}/app`), host).not.toBe('refused');
  }
});

test("the doctor's connection to the pooler needs TLS too", async () => {
  begun.length = 0;
  await expect(pooling(elsewhere())).rejects.toThrow('connects to 0.0.0.0 without TLS');
  expect(begun).toEqual([]);
});

test('a missing file of sslrootcert is reported', async () => {
  const url = `${elsewhere()}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`;
  await expect(withDatabase(url, () => Promise.resolve())).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/cannot be used: ENOENT.*\/nowhere\/ca\.pem/),
  });
});

test('the error for a server without TLS differs from that for an unreachable one', async () => {
  const plain = createServer((socket) => socket.once('data', () => socket.end('N')));
  await once(plain.listen(0, '127.0.0.1'), 'listening');
  const { port } = plain.address() as AddressInfo;
  const url = `postgres://ann@127.0.0.1:${port}/app?sslmode=verify-full`;
  const error = await withDatabase(url, () => Promise.resolve()).catch((error) => error);
  expect(error).toMatchObject({ exitCode: 4, message: expect.stringMatching(/\nTurn on ssl/) });
  plain.close();
});
