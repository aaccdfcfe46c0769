import { expect, test } from 'vitest';
import { client, databasePerFile, db } from '../test_database.ts';
import { pidOf, refusal, row, rows, value, waitUntilBlocked } from '../verbs.ts';

databasePerFile();

type Key = { key: string; prefix: string; replaces: string | null; expires_at: Date | null };

const make = (options = '') =>
  row<Key>(client, `select * from tock.create_key('k', '{enqueue,read,claim}'${options})`);
const rotate = (prefix: string, overlap = 86_400, on = client) =>
  row<Key>(on, 'select * from tock.rotate_key($1, $2)', [prefix, overlap]);
const change = (prefix: string, changes: object) =>
  rows(client, 'select * from tock.update_key($1, $2)', [prefix, JSON.stringify(changes)]);
const listed = (prefix: string) =>
  row<Key & { replaced_by: string }>(client, 'select * from tock.keys_list($1)', [prefix]);
const may = (key: string, on = client) =>
  value<boolean>(on, "select tock.authorize(p_key => $1, p_scope => 'read')", [key]);
const enqueue = (key: string) =>
  value(client, "select tock.http_enqueue($1, 'q', '{}', null)", [key]);
/** Makes a key expire, or be revoked, a second or a longer time ago. */
const end = (prefix: string, ago = '1 s', how = 'expires_at') => {
  const past = `update tock.keys set ${how} = clock_timestamp() - $2::interval where prefix = $1`;
  return client.query(past, [prefix, ago]);
};
const code = async (call: Promise<unknown>) => (await refusal(call)).code;
const note = () => value<number | null>(client, "select tock.run_maintenance('record_key_uses')");

test('an expired key is refused, on the fast path too, with the time of its expiry', async () => {
  const { key, prefix } = await make(', p_expires_in_seconds => 600');
  expect(await may(key)).toBe(true);
  await enqueue(key);
  await end(prefix);
  for (const call of [() => may(key), () => enqueue(key)]) {
    expect(await refusal(call())).toMatchObject({
      code: 'TK401',
      message: expect.stringMatching(/^this key expired at \d{4}-\d\d-\d\dT[\d:]+Z$/),
      detail: 'Authorization',
    });
  }
  await change(prefix, { expires_in_seconds: 60 });
  expect(await may(key)).toBe(true);
  await change(prefix, { expires_at: null });
  expect(await listed(prefix)).toMatchObject({ expires_at: null });
});

test('a key expires during a transaction that uses it', async () => {
  const { key, prefix } = await make(', p_expires_in_seconds => 600');
  await client.query('begin');
  expect(await may(key)).toBe(true);
  await end(prefix, '0 s');
  expect(await code(may(key))).toBe('TK401');
  await client.query('rollback');
});

test.each([
  [', p_expires_in_seconds => 0', 'expires_in_seconds'],
  [", p_expires_at => now() - interval '1 s'", 'expires_at'],
  [", p_expires_at => 'infinity'", 'expires_at'],
  [", p_expires_at => '2100-01-01'", 'expires_at'],
  [", p_expires_at => now() + interval '1 d', p_expires_in_seconds => 5", 'expires_in_seconds'],
  [', p_rate_limit => 0', 'rate_limit'],
  [', p_rate_seconds => 5', 'rate_limit'],
  [', p_rate_limit => 1, p_rate_seconds => 86401', 'rate_seconds'],
  [", p_tenants => '{}'", 'tenants'],
])('no key is created with%s', async (options, field) => {
  const count = 'select count(*)::int from tock.keys';
  const before = await value(client, count);
  expect(await refusal(make(options))).toMatchObject({ code: 'TK422', detail: field });
  expect(await value(client, count)).toBe(before);
});

test('a key for some tenants cannot have the scope claim', async () => {
  const refused = await refusal(make(", p_tenants => '{acme}'"));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'scopes' });
});

test.each([
  [{ scopes: ['admin'] }, 'scopes'],
  [{ name: '' }, 'name'],
  [{ rate_limit: 1.5 }, 'rate_limit'],
  [{ rate_limit: 5, rate_seconds: null }, 'rate_seconds'],
  [{ expires_at: 'tomorrow' }, 'expires_at'],
  [{ expires_in_seconds: null }, 'expires_in_seconds'],
])('a key is not changed to %j', async (changes, field) => {
  const { prefix } = await make();
  const before = await listed(prefix);
  expect(await refusal(change(prefix, changes))).toMatchObject({ code: 'TK422', detail: field });
  expect(await listed(prefix)).toEqual(before);
  expect(await change('tock_00000000', { name: 'x' })).toEqual([]);
});

test('a rotated key works beside its replacement until the overlap is over', async () => {
  const old = await make(
    ", p_queues => '{a}', p_rate_limit => 7, p_rate_seconds => 60, p_expires_in_seconds => 864000",
  );
  const next = await rotate(old.prefix, 600);
  expect([await may(old.key), await may(next.key)]).toEqual([true, true]);
  expect(await listed(next.prefix)).toMatchObject({
    name: 'k',
    scopes: ['enqueue', 'read', 'claim'],
    queues: ['a'],
    rate_limit: 7,
    rate_seconds: 60,
    replaces: old.prefix,
  });
  const was = await listed(old.prefix);
  expect(was.replaced_by).toBe(next.prefix);
  const left = Number(was.expires_at) - Date.now();
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(700_000);
  // The new key lasts as long as the old one did at first, not as long as what was left of it.
  expect(Number(next.expires_at) - Date.now()).toBeGreaterThan(800_000_000);
  await end(old.prefix);
  expect(await code(may(old.key))).toBe('TK401');
  expect(await may(next.key)).toBe(true);
});

test('without an overlap the old key ends at once, and a shorter expiry stays', async () => {
  const old = await make();
  const next = await rotate(old.prefix, 0);
  expect(await code(may(old.key))).toBe('TK401');
  expect(await may(next.key)).toBe(true);
  const short = await make(', p_expires_in_seconds => 60');
  await rotate(short.prefix, 86_400);
  expect((await listed(short.prefix)).expires_at).toEqual(short.expires_at);
});

test('a key is replaced once; if the new key was never received, it is revoked and the old one is rotated again', async () => {
  const old = await make();
  const unseen = await rotate(old.prefix);
  const again = await refusal(rotate(old.prefix));
  expect(again).toMatchObject({ code: 'TK409', message: expect.stringContaining(unseen.prefix) });
  await client.query('select tock.revoke_key($1)', [unseen.prefix]);
  const next = await rotate(old.prefix);
  expect([await may(old.key), await may(next.key)]).toEqual([true, true]);
  expect(await code(may(unseen.key))).toBe('TK401');
  expect(await code(rotate(unseen.prefix))).toBe('TK409');
  await end(next.prefix);
  expect(await code(rotate(next.prefix))).toBe('TK409');
  expect(await rotate('tock_00000000')).toBeUndefined();
});

test('of two concurrent rotations of a key, one gets a new key', async () => {
  const old = await make();
  const [holder, waiter] = [await db.connect(), await db.connect()];
  const pid = await pidOf(waiter);
  await holder.query('begin');
  const first = await rotate(old.prefix, 60, holder);
  const second = refusal(rotate(old.prefix, 60, waiter));
  await waitUntilBlocked(client, pid);
  await holder.query('commit');
  const message = expect.stringContaining(first.prefix);
  expect(await second).toMatchObject({ code: 'TK409', message });
  const live = 'select count(*)::int from tock.keys where replaces = $1';
  expect(await value(client, live, [old.prefix])).toBe(1);
});

test("the maintenance job records the use of a key; the key's row is not locked, nor are others", async () => {
  const [used, idle] = [await make(), await make()];
  const row = 'select xmin::text, ctid::text from tock.keys where prefix = $1';
  const before = await rows(client, row, [used.prefix]);
  expect(await listed(used.prefix)).toMatchObject({ last_used_at: null, uses: '0' });
  await enqueue(used.key);
  await enqueue(used.key);
  await note();
  expect(await listed(used.prefix)).toMatchObject({ last_used_at: expect.any(Date), uses: '2' });
  expect(await listed(idle.prefix)).toMatchObject({ last_used_at: null, uses: '0' });
  expect(await rows(client, row, [used.prefix])).toEqual(before);
  const seen = await listed(used.prefix);
  await note();
  expect(await listed(used.prefix)).toEqual(seen);
});

test('a use is counted without a transaction id, and in a read-only transaction not at all', async () => {
  const { key } = await make();
  await client.query('begin');
  expect(await may(key)).toBe(true);
  expect(await value(client, 'select pg_current_xact_id_if_assigned()')).toBe(null);
  await client.query('rollback');
  await client.query('begin read only');
  expect(await may(key)).toBe(true);
  await client.query('rollback');
});

test('a key works without its counter, as after a restore, and the maintenance job creates a new one', async () => {
  const { key, prefix } = await make();
  const sequence = `tock.uses_${prefix.slice(5)}`;
  for (const before of ['select 1', `drop sequence ${sequence}`, 'select 1']) {
    await client.query(before);
    await enqueue(key);
    await note();
  }
  // The use before the drop and the one after the new counter count. The use without a counter is lost.
  expect(await listed(prefix)).toMatchObject({ uses: '2' });
});

test.each(['revoked_at', 'expires_at'])(
  'the sequences of a key stay while a call may still count, and are dropped an hour after %s',
  async (how) => {
    const { key, prefix } = await make(', p_expires_in_seconds => 600, p_rate_limit => 5');
    const there = () =>
      value(
        client,
        "select count(to_regclass(s))::int from unnest(array['tock.uses_' || $1, 'tock.rate_' || $1]) s",
        [prefix.slice(5)],
      );
    await end(prefix, '1 s', how);
    await note();
    expect(await there()).toBe(2);
    await end(prefix, '2 h', how);
    await note();
    expect(await there()).toBe(0);
    await note();
    expect(await there()).toBe(0);
    if (how === 'revoked_at') return;
    await change(prefix, { expires_at: null });
    expect(await there()).toBe(2);
    expect(await may(key)).toBe(true);
  },
);

test('a lock on the sequence of an ended key blocks no other key', async () => {
  const [old, used] = [await make(), await make()];
  const holder = await db.connect();
  await holder.query('begin');
  await may(old.key, holder);
  await end(old.prefix, '2 h', 'revoked_at');
  await enqueue(used.key);
  await note();
  expect(await listed(used.prefix)).toMatchObject({ uses: '1' });
  await holder.query('rollback');
  await note();
  expect(await value(client, `select to_regclass('tock.uses_${old.prefix.slice(5)}')`)).toBeNull();
});

test('the maintenance job processes many keys in parts', async () => {
  const keys = [await make(), await make(), await make()];
  for (const { key } of keys) await enqueue(key);
  const total = await value<number>(client, 'select count(*)::int from tock.keys');
  for (let seen = 0; seen <= total; seen += 2) {
    await client.query('select tock.record_key_uses(2)');
  }
  for (const { prefix } of keys) expect(await listed(prefix)).toMatchObject({ uses: '1' });
});

const findings = async (finding: string) => {
  const of = 'select detail from tock.doctor_of_keys() where finding = $1';
  return (await rows<{ detail: string }>(client, of, [finding])).map(({ detail }) => detail);
};

test('keys for tenants without a rate are a finding, until each has one', async () => {
  const doctor = () => findings('a key for tenants has no rate');
  expect(await doctor()).toEqual([]);
  const prefix = await value<string>(
    client,
    "select prefix from tock.create_key('k', '{enqueue}', p_tenants => '{acme}')",
  );
  expect(await doctor()).toEqual([expect.stringMatching(`^1 key is without a rate: ${prefix}`)]);
  await change(prefix, { rate_limit: 50 });
  expect(await doctor()).toEqual([]);
});

test('a used key that expires within a week is a finding, until it is rotated', async () => {
  const soon = await make(', p_expires_in_seconds => 86400');
  const idle = await make(', p_expires_in_seconds => 86400');
  const later = await make(', p_expires_in_seconds => 2592000');
  const doctor = async () => {
    const expiring = (await findings('a key is about to expire')).join();
    return [soon, idle, later].filter(({ prefix }) => expiring.includes(prefix));
  };
  await enqueue(soon.key);
  await enqueue(later.key);
  await note();
  expect(await doctor()).toEqual([soon]);
  expect(
    (await rows<{ finding: string }>(client, 'select * from tock.doctor()')).map((f) => f.finding),
  ).toContain('a key is about to expire');
  await rotate(soon.prefix);
  expect(await doctor()).toEqual([]);
});
