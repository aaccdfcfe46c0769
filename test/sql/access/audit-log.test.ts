import { expect, test } from 'vitest';
import { grantedVerbs, memberOf, membersPerFile } from '../roles.ts';
import { client, db } from '../test_database.ts';
import { claim, complete, enqueue, leaseOf, refusal, row, rows, value } from '../verbs.ts';

membersPerFile();

type Act = { number: string; verb: string };

const acts = (filter = '') => rows<Act>(client, `select * from tock.audit_log(${filter})`);
const newest = async () => (await acts('p_limit => 1'))[0];
const total = () => value<number>(client, 'select count(*)::int from tock.audit_log');

const schedule = `'{"queue": "q", "every_seconds": 9000, "payload": "s3cret", "options": {"headers": {"a": "s3cret"}}}'`;

/** A call of every verb that writes to the audit log. Its first argument is the object of the entry. */
const calls = [
  `put_queue('q', '{"paused": true, "max_running": 9}')`,
  `put_queue('*', '{}')`,
  `put_concurrency_key('q', 'g', '{"concurrency_limit": 2}')`,
  `reset_concurrency_key('q', 'g')`,
  `reset_limits('q')`,
  `put_schedule('s', ${schedule})`,
  `put_schedule('s', ${schedule})`,
  `pause_schedule('s')`,
  `resume_schedule('s')`,
  `run_schedule('s')`,
  `drop_schedule('s')`,
  `rotate_push_secret('q', 60)`,
  `redrive('q', '{}')`,
  `purge_queue('q')`,
  `drop_queue('q', true)`,
];

test.each(calls)('%s is in the audit log, and not when it is rolled back', async (call) => {
  const [, verb, object] = call.match(/^(\w+)\('([^']+)'/) ?? [];
  const before = await total();
  await client.query(`begin; select tock.${call}`);
  expect(await total()).toBeGreaterThan(before);
  await client.query('rollback');
  expect(await total()).toBe(before);
  await client.query(`select tock.${call}`);
  expect(await newest()).toMatchObject({ verb, object, role: 'tock', key: null });
});

test('a call that changes nothing adds no audit log entry', async () => {
  await client.query(`select tock.put_queue('without', '{}')`);
  const before = await total();
  const vain = `revoke_key('tock_none') rotate_key('tock_none') update_key('tock_none','{}') drop_schedule('none')
    pause_schedule('none') run_schedule('none') drop_queue('none') reset_concurrency_key('none','g')
    reset_limits('none') reset_limits('without') rotate_push_secret('none') erase(1048577)`;
  for (const call of vain.split(/\s+/)) await client.query(`select tock.${call}`);
  await refusal(client.query(`select tock.put_queue('a b', '{}')`));
  expect(await total()).toBe(before);
});

test('the audit log records keys that are created, changed, rotated and revoked, without their secrets', async () => {
  type Key = { key: string; prefix: string };
  const make = `select * from tock.create_key('k', '{enqueue,read}', p_tenants => '{acme}')`;
  const { key, prefix } = await row<Key>(client, make);
  await client.query(`select tock.update_key($1, '{"name": "other"}')`, [prefix]);
  const next = await row<Key>(client, 'select * from tock.rotate_key($1)', [prefix]);
  await client.query('select tock.revoke_key($1)', [prefix]);
  await client.query('select tock.revoke_key($1)', [prefix]);
  const verbs = (await acts(`p_object => '${prefix}'`)).map(({ verb }) => verb);
  expect(verbs.join(' ')).toBe('revoke_key rotate_key update_key create_key');
  const all = JSON.stringify(await rows(client, 'select * from tock.audit_log'));
  for (const keyText of [key, next.key]) {
    expect(all).toContain(keyText.slice(0, 13));
    expect(all).not.toContain(keyText.slice(14, 30));
  }
});

test('payloads of tasks and schedules and queries of URLs stay out of the audit log', async () => {
  await client.query(`select tock.put_schedule('secretive', ${schedule})`);
  expect(await newest()).toMatchObject({ detail: { queue: 'q', every_seconds: 9000 } });
  const [id] = await enqueue(client, 'ends', [{ payload: { secret: 's3cret' } }]);
  await complete(client, leaseOf(await claim(client, 'ends')));
  await client.query('select tock.erase($1)', [id]);
  expect(await newest()).toMatchObject({ verb: 'erase', object: id, detail: { queue: 'ends' } });
  await client.query(
    `select tock.put_queue('pushed', '{"push": {"url": "https://a.example/b?token=s3cret"}}')`,
  );
  expect(await newest()).toMatchObject({ detail: { push: { url: 'https://a.example/b?…' } } });
  const all = JSON.stringify(await rows(client, 'select * from tock.audit_log'));
  expect(all).not.toContain('s3cret');
});

test('an audit log entry names the key of its call, and another role cannot forge that', async () => {
  const key = await value<string>(client, `select key from tock.create_key('boss', '{admin}')`);
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
  const admin = memberOf('tock_admin');
  await admin.client.query(`set tock.key = '${prefix}'`);
  await admin.client.query(`select tock.put_queue('mine', '{}')`);
  expect(await newest()).toMatchObject({ role: admin.name, key: null });
});

// A verb that is new here needs a place in this list, or a call of write_audit_log(): what looks, runs as maintenance
// or archives.
const silent = `queue concurrency_keys limits queue_stats doctor keys_list audit_log pools queue_of_schedule push_queues
  has_push push_secret pause_schedule resume_schedule running workers why series overview metrics maintenance_jobs_list
  cron_jobs_list segments_list
  tick run_maintenance promote fire_schedules reap reap_pools deactivate_streams create_segments verify_segments
  drop_expired_segments guard isolate_tenants prune collect_metrics
  archive enable_archive_by_default archived archive_part record_archive_step archive_search archive_unwanted
  archive_deleted archive_abandoned archive_emptied archive_erasing archive_erased archive_rewriting archive_rewritten`;

test('every verb of tock_admin that changes something adds an audit log entry', async () => {
  const { tock_admin = [], tock_producer = [], tock_worker = [] } = grantedVerbs;
  const governing = tock_admin.filter((verb) => ![...tock_producer, ...tock_worker].includes(verb));
  const unknown = await rows(
    client,
    `select proname from pg_proc where pronamespace = 'tock'::regnamespace and proname = any ($1)
       and proname <> all ($2) and prosrc not like '%tock.write_audit_log(%'`,
    [governing, silent.split(/\s+/)],
  );
  expect(unknown).toEqual([]);
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
  for (const pruned of [3, 2, 0]) expect(await value(client, 'select tock.prune(3)')).toBe(pruned);
  expect(await total()).toBe(before - 5);
  await client.query("select tock.run_maintenance('prune')");
  expect(await total()).toBe(before - 5);
});
