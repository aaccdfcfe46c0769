import { afterAll, expect, test, vi } from 'vitest';
import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../../migrate/failure.ts';
import { acceptLogin, type SilentProxy, startSilentProxy } from '../drivers/silent_proxy.ts';

vi.mock('../../migrate/timeouts.ts', () => ({ CONNECT_MS: 100, STATEMENT_MS: 100, END_MS: 100 }));

const holes: SilentProxy[] = [];
afterAll(() => Promise.all(holes.map((hole) => hole.close())));

async function silent(...answers: Buffer[]): Promise<[string, SilentProxy]> {
  const hole = await startSilentProxy(...answers);
  holes.push(hole);
  return [`postgres://u:p@127.0.0.1:${hole.port}/d`, hole];
}

test('a database that stops answering ends a command, and the error names it', async () => {
  const [mute] = await silent();
  const login = withDatabase(mute, () => Promise.resolve());
  await expect(login).rejects.toThrow(/127\.0\.0\.1:\d+\/d cannot be used: timeout/);
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
