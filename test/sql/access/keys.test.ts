import { expect, test } from 'vitest';
import { client, databasePerFile } from '../test_database.ts';
import { refusal, row, rows, value } from '../verbs.ts';

databasePerFile();

type Key = { key: string; prefix: string };

const make = (scopes: unknown, queues: string[] | null = null, name = 'k') =>
  row<Key>(client, 'select * from tock.create_key($1, $2, $3)', [name, scopes, queues]);
const may = (key: string | null, scope: string | null, queue: string | null = null) =>
  value<boolean>(client, 'select tock.authorize(p_key => $1, p_scope => $2, p_queue => $3)', [
    key,
    scope,
    queue,
  ]);

test('a key may do what its scopes allow in its queues, and nothing else', async () => {
  const { key } = await make(['enqueue', 'read']);
  expect(await may(key, 'enqueue', 'any')).toBe(true);
  expect(await may(key, 'read')).toBe(true);
  for (const scope of ['claim', 'admin'])
    expect((await refusal(may(key, scope, 'any'))).code).toBe('TK403');
  for (const scope of ['everything', null])
    expect((await refusal(may(key, scope))).code).toMatch(/^TK4/);
  const some = (await make(['claim'], ['mine', 'ours'])).key;
  expect(await may(some, 'claim', 'ours')).toBe(true);
  expect((await refusal(may(some, 'claim', 'theirs'))).code).toBe('TK403');
});

test('an unknown key, a missing key and a part of a key are refused', async () => {
  const { key, prefix } = await make(['read']);
  const bad = ['tock_unknown', '', null, prefix, key.slice(0, -1), `${key} `, key.toUpperCase()];
  for (const of of bad) expect((await refusal(may(of, 'read'))).code).toBe('TK401');
});

test('a revoked key is refused from then on', async () => {
  const { key, prefix } = await make(['read']);
  expect(await may(key, 'read')).toBe(true);
  expect(await value(client, 'select tock.revoke_key($1)', [prefix])).toBe(true);
  expect((await refusal(may(key, 'read'))).code).toBe('TK401');
  expect(await value(client, "select tock.revoke_key('tock_none')")).toBe(false);
});

test('a key is shown once and kept only as a hash', async () => {
  const { key, prefix } = await make(['read'], null, 'shown');
  expect(key.startsWith(`${prefix}_`)).toBe(true);
  const dump = JSON.stringify([
    await rows(client, 'select * from tock.keys'),
    await rows(client, 'select * from tock.keys_list()'),
  ]);
  expect(dump).toContain(prefix);
  expect(dump).not.toContain(key.slice(prefix.length + 1));
  expect((await make(['read'])).key).not.toBe(key);
});

test.each([
  ['no scopes', [], null, 'k', 'scopes'],
  ['an unknown scope', ['enqueue', 'root'], null, 'k', 'scopes'],
  ['a scope that is null', ['enqueue', null], null, 'k', 'scopes'],
  ['no name', ['read'], null, '', 'name'],
  ['an empty list of queues', ['read'], [], 'k', 'queues'],
  ['a queue that is no name', ['read'], ['a b'], 'k', 'queue'],
])('a key with %s is not created', async (_, scopes, queues, name, field) => {
  const before = await value(client, 'select count(*)::int from tock.keys');
  expect(await refusal(make(scopes, queues, name))).toMatchObject({ code: 'TK422', detail: field });
  expect(await value(client, 'select count(*)::int from tock.keys')).toBe(before);
});
