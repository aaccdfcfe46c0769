import { expect, test } from 'vitest';
import { begin, blocked, invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { row, rows, value } from '../../verbs.ts';
import { begun, claimedSteps, next, save, signal } from './steps.ts';

databasePerTest();
invariantsAfterEach();

type Link = { token: string; expires_at: Date };
const link = (event: string, seconds?: number) =>
  row<Link>(
    client,
    'select * from tock.create_event_link(p_event => $1, p_valid_seconds => coalesce($2, 604800))',
    [event, seconds],
  );
const use = (token: string, payload: unknown = {}, on = client) =>
  value<string>(on, 'select tock.signal_by_link($1, $2)', [token, JSON.stringify(payload)]);

test('a link signals its event once, and its token is stored nowhere', async () => {
  const run = await begun();
  await save(run, { name: 'w', event: 'e' });
  const { token } = await link('e');
  expect([await use(token, { by: 'ann' }), await use(token, { by: 'bob' })]).toEqual([
    'accepted',
    'used',
  ]);
  expect(await claimedSteps(await next())).toMatchObject([{ result: { by: 'ann' } }]);
  const stored = await rows(client, 'select l::text as link from tock.event_links l');
  expect(JSON.stringify(stored)).not.toContain(token);
});

test('two calls with one link at once: one counts', async () => {
  const { token } = await link('e');
  const holder = await begin();
  expect(await use(token, 1, holder)).toBe('accepted');
  const second = await blocked(await db.connect(), (on) => use(token, 2, on));
  await holder.query('commit');
  expect(await second()).toBe('used');
});

test('a link after its end, a wrong one, and one that comes too late', async () => {
  const { token } = await link('e');
  expect([await use('x'), await use('0'.repeat(64))]).toEqual(['unknown', 'unknown']);
  await signal('e');
  expect(await use(token)).toBe('late');
  const other = await link('f');
  await client.query("update tock.event_links set expires_at = now() - interval '1 s'");
  expect(await use(other.token)).toBe('unknown');
  await client.query('select tock.prune()');
  expect(await rows(client, 'select from tock.event_links')).toEqual([]);
});

test.each([
  ['', 60, 'event'],
  ['e', 0, 'valid_seconds'],
  ['e', 31_536_001, 'valid_seconds'],
])('a link for %j of %d seconds is refused', async (event, seconds, detail) => {
  await expect(link(event, seconds)).rejects.toMatchObject({ code: 'TK422', detail });
});
