// Archives a week of history and reads it back. It compares every run, and some tasks as HTTP answers them.
// Usage: npm run archive:week [-- <tasks a day, default 100000>]
import { parseArgs } from 'node:util';
import pg from 'pg';
import { readRows } from '../../functions/archive/parquet.ts';
import { s3 } from '../../functions/archive/s3.ts';
import { connect } from '../../functions/database/connect.ts';
import { createApp } from '../../functions/http/app.ts';
import { migrate } from '../../migrate/migrate.ts';
import { enableEdgeLogin, makeDatabase } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';
import { testCluster } from '../../scripts/stack/test_cluster.ts';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  startNextSegment,
  verifySegments,
} from '../sql/kernel/segment/segments.ts';
import { startS3 } from './s3.ts';

const DAYS = 7;
const CALL = 5000;
const ASKED = 2000;

const { positionals } = parseArgs({ allowPositionals: true });
const aDay = Number(positionals[0] ?? 100_000);
if (!Number.isInteger(aDay) || aDay < 100 || aDay > 1_000_000) {
  process.stdout.write('Usage: npm run archive:week [-- <tasks a day, 100 to 1000000>]\n');
  process.exit(2);
}

const say = (text: string) => process.stdout.write(`${text}\n`);
const store = await startS3();
const made = await testCluster('archive_week', softly);
const { cluster, passwords } = made;
await makeDatabase(cluster.url(), 'week');
const as = (role: string, word: string) =>
  cluster.url('week').replace(/\/\/[^@]*@/, `//${role}:${word}@`);
const owner = as('tock', passwords.owner);
await migrate(owner, {});
await enableEdgeLogin(owner, passwords.edge);
const client = new pg.Client({ connectionString: owner });
await client.connect();
const fetchValue = async <T>(sql: string, values: unknown[] = []) =>
  Object.values((await client.query(sql, values)).rows[0] ?? {})[0] as T;

const key = await fetchValue<string>(
  "select key from tock.create_key(p_name => 'week', p_scopes => array['read', 'admin'])",
);
const app = createApp(connect);
const bindings = { DATABASE_URL: as('tock_edge', passwords.edge), ...store.settings };

async function send(route: string, body?: object): Promise<Response> {
  const [method = 'GET', path = ''] = route.split(' ');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return app.request(path, { method, headers, body: body ? JSON.stringify(body) : null }, bindings);
}

/**
 * Enqueues and ends a part of a day: most tasks are done, one in 20 fails once, one in 100 dies, one in 100 is
 * delayed.
 */
async function work(count: number, day: number): Promise<void> {
  await client.query(
    `select tock.enqueue('orders', (
       select jsonb_agg(jsonb_build_object('payload', jsonb_build_object('day', $2::integer, 'order', n, 'note', md5(n::text)),
         'tenant', 'shop-' || n % 50) || case when n % 100 = 7 then '{"delay_seconds": 1}'::jsonb else '{}' end
         || case when n % 100 = 3 then '{"max_attempts": 1}'::jsonb else '{}' end)
       from generate_series(1, $1) n))`,
    [count, day],
  );
  await client.query("update tock.waiting set due_at = now() - interval '1 s'");
  await client.query('select tock.promote(100000)');
  for (;;) {
    const { rows } = await client.query(
      "select lease, id::text, attempt, max_attempts, (payload ->> 'order')::int as n from tock.claim(p_queue => 'orders', p_worker => 'w', p_limit => 5000)",
    );
    if (rows.length === 0) break;
    const [{ lease }] = rows;
    const failing = rows.filter(
      ({ n, attempt, max_attempts: most }) => most === 1 || (n % 20 === 11 && attempt === 1),
    );
    if (failing.length > 0) {
      const failures = failing.map(({ id, n }) => ({
        id,
        error: { message: `no stock of ${n % 3}` },
        retry_in_seconds: 0,
      }));
      await client.query('select tock.fail(p_lease => $1, p_failures => $2)', [
        lease,
        JSON.stringify(failures),
      ]);
    }
    const results = rows
      .filter((row) => !failing.includes(row) && row.n % 2 === 0)
      .map(({ id, n }) => ({ id, result: { invoice: n * 3 } }));
    if (results.length > 0)
      await client.query('select tock.complete(p_lease => $1, p_results => $2)', [
        lease,
        JSON.stringify(results),
      ]);
    await client.query('select tock.complete($1)', [lease]).catch(() => {});
  }
}

/** The rows to compare, read from the tables directly and not by the functions of the archive. */
const snapshot = `create table public.before as
  select r.position << 20 | r.stream as id, coalesce(r.task_id, r.position << 20 | r.stream) as task_id, r.payload::text as payload,
    e.result::text as result, r.tenant, r.attempt::int as attempt, (extract(epoch from r.created_at) * 1000000)::bigint as created_at
  from tock.runs r left join tock.results e on e.stream = r.stream and e.position = r.position`;

async function readBack(): Promise<number> {
  await client.query('create table public.after (like public.before)');
  const { rows } = await client.query('select path from tock.archived_files order by number');
  const files = s3(
    store.settings.TOCK_ARCHIVE_URL,
    store.settings.TOCK_ARCHIVE_KEY_ID,
    store.settings.TOCK_ARCHIVE_SECRET,
    'auto',
  );
  const columns = [0, 1, 15, 16, 6, 7, 10];
  for (const { path } of rows) {
    const bytes = await files.get(path);
    if (!bytes) throw new Error(`${path} is missing`);
    const texts = (await readRows(bytes)).map((row) => columns.map((n) => row[n] ?? null));
    await client.query(
      `insert into public.after select (t ->> 0)::bigint, (t ->> 1)::bigint, t ->> 2, t ->> 3, t ->> 4, (t ->> 5)::int, (t ->> 6)::bigint
       from jsonb_array_elements($1::jsonb) t`,
      [JSON.stringify(texts)],
    );
  }
  return rows.length;
}

const seconds = async (work: () => Promise<unknown>) => {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
};

let failed = true;
try {
  const filled = await seconds(async () => {
    for (let day = 0; day < DAYS; day++) {
      for (let left = aDay; left > 0; left -= CALL) await work(Math.min(CALL, left), day);
      await startNextSegment(client);
      await closeSegments(client);
    }
  });
  await closeSegments(client);
  await client.query(snapshot);
  const runs = await fetchValue<string>('select count(*) from public.before');
  const tasks = await fetchValue<string>('select count(distinct task_id) from public.before');
  const size = await fetchValue<string>(
    `select pg_size_pretty(sum(pg_total_relation_size(c.oid))) from pg_class c
     where c.relnamespace = 'tock'::regnamespace and c.relkind = 'r' and c.relispartition`,
  );
  say(
    `${tasks} tasks in ${runs} runs over ${DAYS} segments, ${size} in the database (${filled.toFixed(0)} s)`,
  );

  const ids: string[] = (
    await client.query(
      'select distinct on (md5(task_id::text)) task_id::text as id from public.before order by md5(task_id::text) limit $1',
      [ASKED],
    )
  ).rows.map(({ id }) => id);
  const before = new Map<string, string>();
  for (const id of ids) before.set(id, await (await send(`GET /v1/tasks/${id}`)).text());

  await ageClosedSegments(client, '60 days');
  await verifySegments(client);
  await send('PUT /v1/archive', { enabled: true });
  let steps = 0;
  const exported = await seconds(async () => {
    for (let more = true; more; steps++) {
      const answer = await send('POST /v1/archive/step', {});
      if (!answer.ok) throw new Error(await answer.text());
      more = ((await answer.json()) as { more: boolean }).more;
    }
  });
  await dropExpiredSegments(client);
  const left = await fetchValue<string>('select count(*) from tock.runs');
  const bytes = Number(await fetchValue<string>('select sum(bytes) from tock.archived_files'));
  say(
    `exported in ${steps} steps, ${exported.toFixed(0)} s (${Math.round(Number(runs) / exported)} runs a second), ${(bytes / 2 ** 20).toFixed(0)} MiB, ${(bytes / Number(runs)).toFixed(0)} bytes a run; ${left} runs are left in the database`,
  );

  const files = await readBack();
  await client.query('analyze public.before; analyze public.after');
  const missing = await fetchValue<string>(
    'select count(*) from (select * from public.before except all select * from public.after) x',
  );
  const extra = await fetchValue<string>(
    'select count(*) from (select * from public.after except all select * from public.before) x',
  );
  say(`read back from ${files} files: ${missing} runs missing or different, ${extra} too many`);

  let different = 0;
  const duration = await seconds(async () => {
    for (const id of ids)
      if ((await (await send(`GET /v1/tasks/${id}`)).text()) !== before.get(id)) different++;
  });
  say(
    `${ids.length} tasks asked for over HTTP, ${((duration * 1000) / ids.length).toFixed(1)} ms each: ${different} different`,
  );
  failed = left !== '0' || missing !== '0' || extra !== '0' || different > 0;
  say(failed ? 'SOMETHING IS MISSING' : 'Nothing is missing.');
} finally {
  await client.end();
  await made.close();
  await store.stop();
}
process.exit(failed ? 1 : 0);
