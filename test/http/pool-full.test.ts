import { expect, test, vi } from 'vitest';
import { createApp } from '../../functions/http/app.ts';

vi.spyOn(console, 'error').mockImplementation(() => {});

async function answer(code: string | undefined, message: string) {
  const app = createApp(() => Promise.reject(Object.assign(new Error(message), { code })));
  const reply = await app.request('/v1/queues', { headers: { authorization: 'Bearer tock_1' } });
  const { detail } = (await reply.json()) as { detail: string };
  return { status: reply.status, detail, after: reply.headers.get('retry-after') };
}

// Messages of PostgreSQL and poolers, with the codes that Tock's drivers give to these errors.
test.each([
  ['53300', 'sorry, too many clients already'],
  ['53300', 'remaining connection slots are reserved for roles with the SUPERUSER attribute'],
  ['53300', 'Server error (HTTP status 429)'],
  ['08P01', 'query_wait_timeout'],
  ['08P01', 'no more connections allowed (max_client_conn)'],
  ['08P01', 'server login has been failing, cached error: sorry, too many clients already'],
  ['58000', 'Timed out while waiting for an open slot in the pool.'],
  ['08001', 'Max client connections reached'],
  ['08001', 'MaxClientsInSessionMode: max clients reached'],
  ['08006', '(ECHECKOUTTIMEOUT) unable to check out connection from the pool after 5000ms'],
  ['08001', '(EMAXCONN) too many connections'],
])('a full pool is recognized by the error of each pooler: %s %s', async (code, message) => {
  expect(await answer(code, message)).toEqual({
    status: 503,
    detail: 'All database connections are in use.',
    after: expect.stringMatching(/^[123]$/),
  });
});

test.each([
  ['08006', 'Query read timeout'],
  ['57P03', 'the database system is starting up'],
  ['40001', 'could not serialize access'],
  ['53200', 'out of memory'],
])('other transient errors give only Retry-After: %s %s', async (code, message) => {
  expect(await answer(code, message)).toMatchObject({
    status: 503,
    detail: 'The database is unreachable or overloaded.',
    after: '1',
  });
});

test("an error's text alone, without its code, does not count as a full pool", async () => {
  expect((await answer(undefined, 'too many connections')).status).toBe(500);
  expect((await answer('22023', 'query_wait_timeout')).status).toBe(422);
});

test('Retry-After is random, so that callers do not retry at the same time', async () => {
  const delays = new Set<string | null>();
  for (let n = 0; n < 40; n++) delays.add((await answer('53300', '')).after);
  expect([...delays].sort()).toEqual(['1', '2', '3']);
});
