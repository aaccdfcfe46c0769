import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../database.ts';
import { dropMembers, grantedVerbs, type Member, makeMembers } from '../roles.ts';
import { claim, complete, enqueue, leaseOf, refusal, rows, value } from '../verbs.ts';

let db: Database;
let client: pg.Client;
let members: Member[];

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
  members = await makeMembers(db);
});

afterAll(async () => {
  await db.drop();
  await dropMembers(db.superUrl, members);
});

type Act = {
  number: string;
  role: string;
  key: string | null;
  verb: string;
  object: string;
  detail: object;
};

const acts = (filter = '') => rows<Act>(client, `select * from tock.audit_log(${filter})`);
const newest = async () => (await acts('p_limit => 1'))[0] as Act;
const total = () => value<number>(client, 'select count(*)::int from tock.audit_log');

async function ended(): Promise<string> {
  const [id] = await enqueue(client, 'ends', [{ payload: { secret: 's3cret' } }]);
  await complete(client, leaseOf(await claim(client, 'ends')));
  return id as string;
}

/** Every verb that writes to the audit log, with a call of it and the object of its entry. */
const verbs: [verb: string, call: string, object: string][] = [
  ['put_queue', `select tock.put_queue('q', '{"paused": true, "max_running": 9}')`, 'q'],
  ['put_queue', `select tock.put_queue('*', '{}')`, '*'],
  [
    'put_concurrency_key',
    `select tock.put_concurrency_key('q', 'g', '{"concurrency_limit": 2}')`,
    'q',
  ],
  ['reset_concurrency_key', `select tock.reset_concurrency_key('q', 'g')`, 'q'],
  ['reset_limits', `select tock.reset_limits('q')`, 'q'],
  [
    'put_schedule',
    `select tock.put_schedule('s', '{"queue": "q", "every_seconds": 9000, "payload": "s3cret", "options": {"headers": {"a": "s3cret"}}}')`,
    's',
  ],
  [
    'put_schedule',
    `select tock.put_schedule('s', '{"queue": "q", "every_seconds": 9000, "payload": "s3cret", "options": {"headers": {"a": "s3cret"}}}')`,
    's',
  ],
  ['pause_schedule', `select tock.pause_schedule('s')`, 's'],
  ['resume_schedule', `select tock.resume_schedule('s')`, 's'],
  ['run_schedule', `select tock.run_schedule('s')`, 's'],
  ['drop_schedule', `select tock.drop_schedule('s')`, 's'],
  ['rotate_push_secret', `select tock.rotate_push_secret('q', 60)`, 'q'],
  ['redrive', `select tock.redrive('q', '{}')`, 'q'],
  ['purge_queue', `select tock.purge_queue('q')`, 'q'],
  ['drop_queue', `select tock.drop_queue('q', true)`, 'q'],
];

test.each(verbs)(
  '%s is in the audit log, and not when it is rolled back',
  async (verb, call, object) => {
    const before = await total();
    await client.query('begin');
    await client.query(call);
    expect(await total()).toBeGreaterThan(before);
    await client.query('rollback');
    expect(await total()).toBe(before);
    await client.query(call);
    expect(await newest()).toMatchObject({ verb, object, role: 'tock', key: null });
  },
);

test('a call that changes nothing adds no audit log entry', async () => {
  await client.query(`select tock.put_queue('without', '{}')`);
  const before = await total();
  for (const call of [
    `tock.revoke_key('tock_none')`,
    `tock.rotate_key('tock_none')`,
    `tock.update_key('tock_none', '{}')`,
    `tock.drop_schedule('none')`,
    `tock.pause_schedule('none')`,
    `tock.run_schedule('none')`,
    `tock.drop_queue('none')`,
    `tock.reset_concurrency_key('none', 'g')`,
    `tock.reset_limits('none')`,
    `tock.reset_limits('without')`,
    `tock.rotate_push_secret('none')`,
    `tock.erase(1048577)`,
  ]) {
    await client.query(`select ${call}`);
  }
  await refusal(client.query(`select tock.put_queue('a b', '{}')`));
  expect(await total()).toBe(before);
});

test('the audit log records keys that are created, changed, rotated and revoked, without their secrets', async () => {
  const [made] = await rows<{ key: string; prefix: string }>(
    client,
    `select * from tock.create_key('k', '{enqueue,read}', p_tenants => '{acme}')`,
  );
  const { key, prefix } = made as { key: string; prefix: string };
  await client.query(`select tock.update_key($1, '{"name": "other"}')`, [prefix]);
  const [next] = await rows<{ key: string; prefix: string }>(
    client,
    'select * from tock.rotate_key($1)',
    [prefix],
  );
  await client.query('select tock.revoke_key($1)', [prefix]);
  await client.query('select tock.revoke_key($1)', [prefix]);
  expect((await acts(`p_object => '${prefix}'`)).map(({ verb }) => verb)).toEqual([
    'revoke_key',
    'rotate_key',
    'update_key',
    'create_key',
  ]);
  const all = JSON.stringify(await rows(client, 'select * from tock.audit_log'));
  for (const keyText of [key, next?.key as string]) {
    expect(all).toContain(keyText.slice(0, 13));
    expect(all).not.toContain(keyText.slice(14));
    expect(all).not.toContain(keyText.slice(14, 30));
  }
});

test('payloads of tasks and schedules and queries of URLs stay out of the audit log', async () => {
  await client.query(
    `select tock.put_schedule('secretive', '{"queue": "q", "every_seconds": 9000, "payload": "s3cret", "options": {"headers": {"a": "s3cret"}}}')`,
  );
  expect(await newest()).toMatchObject({ detail: { queue: 'q', every_seconds: 9000 } });
  const id = await ended();
  await client.query('select tock.erase($1)', [id]);
  expect(await newest()).toMatchObject({ verb: 'erase', object: id, detail: { queue: 'ends' } });
  await client.query(
    `select tock.put_queue('pushed', '{"push": {"url": "https://a.example/b?token=s3cret"}}')`,
  );
  expect(await newest()).toMatchObject({ detail: { push: { url: 'https://a.example/b?…' } } });
  expect(JSON.stringify(await rows(client, 'select * from tock.audit_log'))).not.toContain(
    's3cret',
  );
});

test('an audit log entry names the key of its call, and another role cannot forge that', async () => {
  const [made] = await rows<{ key: string }>(
    client,
    `select * from tock.create_key('boss', '{admin}')`,
  );
  const key = made?.key as string;
  const edge = await db.connect(db.edgeUrl);
  await edge.query(
    `select v.name from tock.authorize(p_key => $1, p_scope => 'admin', p_queue => 'mine') as k (allowed)
     cross join lateral (select q.name from tock.put_queue('mine', '{}') q where k.allowed offset 0) v`,
    [key],
  );
  const prefix = key.slice(0, 13);
  expect(await newest()).toMatchObject({ role: 'tock_edge', key: prefix, key_name: 'boss' });
  // The connection's next call has no key.
  await edge.query(`select tock.put_queue('mine', '{}')`);
  expect(await newest()).toMatchObject({ role: 'tock_edge', key: null });
  const admin = members.find(({ role }) => role === 'tock_admin') as Member;
  await admin.client.query(`set tock.key = '${prefix}'`);
  await admin.client.query(`select tock.put_queue('mine', '{}')`);
  expect(await newest()).toMatchObject({ role: admin.name, key: null });
});

// A verb that is new here needs a place in one of these lists, or a call of write_audit_log().
const looks =
  `queue concurrency_keys limits queue_stats doctor keys_list audit_log pools queue_of_schedule push_queues has_push
  push_secret pause_schedule resume_schedule running workers why series overview metrics maintenance_jobs_list cron_jobs_list segments_list`.split(
    /\s+/,
  );
const clockwork =
  `tick run_maintenance promote fire_schedules reap reap_pools deactivate_streams create_segments verify_segments
  drop_expired_segments guard isolate_tenants prune collect_metrics`.split(/\s+/);

const archiving =
  `archive enable_archive_by_default archived archive_part record_archive_step archive_search archive_unwanted archive_deleted
  archive_abandoned archive_emptied archive_erasing archive_erased archive_rewriting archive_rewritten`.split(
    /\s+/,
  );

test('every verb of tock_admin that changes something adds an audit log entry', async () => {
  const { tock_admin = [], tock_producer = [], tock_worker = [] } = grantedVerbs;
  const governing = tock_admin.filter((verb) => ![...tock_producer, ...tock_worker].includes(verb));
  const silent = await rows<{ name: string }>(
    client,
    `select proname as name from pg_proc where pronamespace = 'tock'::regnamespace
       and proname = any ($1) and prosrc not like '%tock.write_audit_log(%' order by 1`,
    [governing],
  );
  const unknown = silent.map(({ name }) => name);
  expect(unknown.filter((name) => ![...looks, ...clockwork, ...archiving].includes(name))).toEqual(
    [],
  );
});

test('audit log entries are found by key, verb and object, and paged by number', async () => {
  for (let n = 0; n < 5; n++) await client.query(`select tock.put_queue('many', '{}')`);
  const first = await acts(`p_object => 'many', p_limit => 2`);
  const rest = await acts(`p_object => 'many', p_before => ${first[1]?.number}`);
  expect([first.length, rest.length]).toEqual([2, 3]);
  const numbers = [...first, ...rest].map(({ number }) => Number(number));
  expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
  expect((await acts(`p_verb => 'erase'`)).every(({ verb }) => verb === 'erase')).toBe(true);
  expect(await acts(`p_key => 'tock_ffffffff'`)).toEqual([]);
  expect((await refusal(acts('p_limit => 0'))).code).toBe('TK422');
  expect((await refusal(acts('p_limit => 1001'))).code).toBe('TK422');
});

test('audit log entries are deleted after a year, the oldest first, in bounded batches', async () => {
  await client.query(`update tock.audit_log set at = now() - interval '366 days' where number in (
    select number from tock.audit_log order by number limit 5)`);
  const before = await total();
  expect(await value(client, 'select tock.prune(3)')).toBe(3);
  expect(await value(client, 'select tock.prune(3)')).toBe(2);
  expect(await value(client, 'select tock.prune(3)')).toBe(0);
  expect(await total()).toBe(before - 5);
  await client.query("select tock.run_maintenance('prune')");
  expect(await total()).toBe(before - 5);
});
