import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../database.ts';
import { claim, refusal, rows, value } from '../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

type Key = { key: string; prefix: string };

const make = async (scopes: unknown, queues: string[] | null = null, name: string | null = 'k') =>
  (
    await rows<Key>(client, 'select * from tock.create_key($1, $2, $3)', [name, scopes, queues])
  )[0] as Key;
const may = (key: string | null, scope: string | null, queue: string | null = null) =>
  value<boolean>(client, 'select tock.authorize(p_key => $1, p_scope => $2, p_queue => $3)', [
    key,
    scope,
    queue,
  ]);

test('a key may do what its scopes allow, and nothing else', async () => {
  const { key } = await make(['enqueue', 'read']);
  expect(await may(key, 'enqueue', 'any')).toBe(true);
  expect(await may(key, 'read')).toBe(true);
  expect((await refusal(may(key, 'claim', 'any'))).code).toBe('TK403');
  expect((await refusal(may(key, 'admin'))).code).toBe('TK403');
});

test('a key for some queues is refused for others', async () => {
  const { key } = await make(['claim'], ['mine', 'ours']);
  expect(await may(key, 'claim', 'ours')).toBe(true);
  expect((await refusal(may(key, 'claim', 'theirs'))).code).toBe('TK403');
});

test('an unknown key, a missing key and a part of a key are refused', async () => {
  const { key, prefix } = await make(['read']);
  for (const bad of [
    'tock_unknown',
    '',
    null,
    prefix,
    key.slice(0, -1),
    `${key} `,
    key.toUpperCase(),
  ]) {
    expect((await refusal(may(bad, 'read'))).code).toBe('TK401');
  }
});

test('an unknown scope is refused, and so is an empty list', async () => {
  const { key } = await make(['read']);
  expect((await refusal(may(key, 'everything'))).code).toMatch(/^TK4/);
  expect((await refusal(may(key, null))).code).toMatch(/^TK4/);
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
  ['null for scopes', null, null, 'k', 'scopes'],
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

test('a call by a key without the right does nothing', async () => {
  const { key } = await make(['read']);
  const call = client.query(
    `select ids from tock.authorize(p_key => $1, p_scope => 'enqueue', p_queue => 'guarded') as allowed
     cross join lateral (
       select tock.enqueue(p_queue => 'guarded', p_tasks => '[{}]') as ids where allowed offset 0) v`,
    [key],
  );
  expect((await refusal(call)).code).toBe('TK403');
  expect(await claim(client, 'guarded')).toEqual([]);
});
