import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../../migrate/failure.ts';
import { acceptLogin, type SilentProxy, startSilentProxy } from '../drivers/silent_proxy.ts';

// Where a login is answered, its limit must not pass on a busy machine.
const limits = vi.hoisted(() => ({ connect: 60_000 }));
vi.mock('../../migrate/timeouts.ts', () => ({
  get CONNECT_MS() {
    return limits.connect;
  },
  STATEMENT_MS: 100,
  END_MS: 100,
}));

const holes: SilentProxy[] = [];
afterAll(() => Promise.all(holes.map((hole) => hole.close())));

async function silent(...answers: Buffer[]): Promise<[string, SilentProxy]> {
  const hole = await startSilentProxy(...answers);
  holes.push(hole);
  return [`postgres://u:p@127.0.0.1:${hole.port}/d`, hole];
}

test('a database that answers no login ends a command, and the error names it', async () => {
  const [mute] = await silent();
  limits.connect = 100;
  onTestFinished(() => {
    limits.connect = 60_000;
  });
  const login = withDatabase(mute, () => Promise.resolve());
  await expect(login).rejects.toThrow(/127\.0\.0\.1:\d+\/d cannot be used: timeout/);
});

test('a database that stops answering ends a command, and the error names it', async () => {
  const [url, hole] = await silent(acceptLogin);
  const query = withDatabase(url, (client) => client.query('select 1'));
  await expect(query).rejects.toThrow(/127\.0\.0\.1:\d+\/d stopped answering\./);
  await expect(query).rejects.toBeInstanceOf(Failure);
  await expect.poll(hole.open).toBe(0);
});

test('closing the connection to a silent database does not delay the command', async () => {
  const [url, hole] = await silent(acceptLogin);
  expect(await withDatabase(url, () => Promise.resolve('done'))).toBe('done');
  await expect.poll(hole.open).toBe(0);
});
