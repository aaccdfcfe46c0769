import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { s3 } from '../../functions/archive/s3.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { type Service, service } from '../http/service.ts';
import { dropExpiredSegments } from '../sql/kernel/segment/segments.ts';
import { value } from '../sql/verbs.ts';
import { type S3, startS3 } from './s3.ts';
import { allTasks, passAllRetentions, secret, taskText, twoDays } from './two_days.ts';

let store: S3;
let tock: Service;
let ids: Record<string, string>;
let before: Map<string, string>;
const folder = mkdtempSync(join(tmpdir(), 'tock-parquet-'));

beforeAll(async () => {
  store = await startS3();
  tock = await service(store.settings);
  ids = await twoDays(tock.owner);
  before = new Map();
  for (const id of allTasks(ids)) before.set(id, await taskText(tock.send, id));
  await passAllRetentions(tock.owner);
});

afterAll(async () => {
  await tock?.database.drop();
  await store?.stop();
  rmSync(folder, { recursive: true });
});

async function archive(): Promise<void> {
  for (let more = true; more; ) {
    const { status, body, text } = await tock.send('POST /v1/archive/step', { body: { rows: 20 } });
    expect(status, text).toBe(200);
    more = body.more;
  }
}

const open = () => s3(store.settings.TOCK_ARCHIVE_URL, 'S3RVER', 'S3RVER', 'us-east-1');

/** Copies the archive's files into a folder. */
async function fetched(): Promise<void> {
  const { rows } = await tock.owner.query('select path from tock.archived_files');
  for (const { path } of rows) {
    const bytes = await open().get(path);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes ?? '');
  }
}

/** The page's queries, with the folder instead of the bucket. */
function queries(): string[] {
  const page = readFileSync(join(checkout, 'docs/operating/archive.md'), 'utf8');
  return [...page.matchAll(/```sql\n([^`]*)```/g)].map(([, sql]) =>
    (sql as string).replaceAll('s3://bucket/folder', folder),
  );
}

test('an S3-compatible server stores the archive and returns it exactly', async () => {
  await tock.send('PUT /v1/archive', { body: { enabled: true } });
  await archive();
  await dropExpiredSegments(tock.owner);
  expect(await value(tock.owner, 'select count(*)::int from tock.runs')).toBe(0);
  for (const [id, text] of before) {
    expect(await taskText(tock.send, id)).toBe(text);
  }
  const { body } = await tock.send('GET /v1/archive/tasks?queue=many&limit=1000');
  expect(body.tasks).toHaveLength(50);
});

test('DuckDB reads the files with the queries of docs/operating/archive.md', async () => {
  await fetched();
  const duck = await (await DuckDBInstance.create()).connect();
  const [counted = '', tasks = ''] = queries();
  const all = (await duck.runAndReadAll(counted)).getRowObjectsJson();
  const many = all.find(({ queue, state }) => queue === 'many' && state === 'done');
  expect(many).toMatchObject({ runs: '50' });
  const whole = (await duck.runAndReadAll(tasks)).getRowObjectsJson();
  expect(whole).toContainEqual(
    expect.objectContaining({ task_id: ids.retried, queue: 'slow', runs: '3', state: 'done' }),
  );
  expect(whole).toContainEqual(
    expect.objectContaining({ task_id: ids.dead, queue: 'bills', state: 'dead' }),
  );
  const times = await duck.runAndReadAll(
    `select typeof(created_at) as type, make_timestamp(epoch_us(created_at)) as at, payload from read_parquet('${folder}/tock/*/*.parquet') where task_id = ${ids.plain}`,
  );
  const [row] = times.getRowObjectsJson();
  const known = JSON.parse(before.get(ids.plain as string) ?? '{}').created_at;
  expect(`${row?.at}`.replace(' ', 'T')).toBe(known.replace('+00:00', ''));
  expect(row).toMatchObject({ payload: '7', type: 'TIMESTAMP WITH TIME ZONE' });
});

test('an erased task is deleted from the server', async () => {
  for (const id of [ids.done, ids.dead]) {
    expect((await tock.send(`DELETE /v1/tasks/${id}/payload`)).status).toBe(200);
  }
  await archive();
  rmSync(folder, { recursive: true });
  await fetched();
  const duck = await (await DuckDBInstance.create()).connect();
  const result = await duck.runAndReadAll(
    `select count(*) as n from read_parquet('${folder}/tock/*/*.parquet') t where t::text like '%${secret}%'`,
  );
  expect(result.getRowObjectsJson()).toEqual([{ n: '0' }]);
});

test('a wrong key, a missing bucket and a missing server are reported', async () => {
  const wrong = s3(store.settings.TOCK_ARCHIVE_URL, 'NOBODY', 'wrong', 'us-east-1');
  await expect(wrong.put('x', new Uint8Array([1]), 'a'.repeat(64))).rejects.toThrow(/answered 403/);
  const nowhere = s3(`${new URL(store.url).origin}/nowhere`, 'S3RVER', 'S3RVER', 'us-east-1');
  await expect(nowhere.get('x')).rejects.toThrow(/NoSuchBucket/);
  expect(await open().get('no-such-object')).toBeNull();
  await open().delete('no-such-object');
  expect(() => s3('http://s3.example/bucket', 'a', 'b', 'c')).toThrow(/not a valid bucket URL/);
});
