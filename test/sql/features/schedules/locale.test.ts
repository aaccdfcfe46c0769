import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepare } from '../../../../scripts/stack/test_cluster.ts';
import { type Database, freshDatabase, stackInfo } from '../../../database.ts';
import { refusal, rows } from '../../verbs.ts';

// Before PostgreSQL 15 a database takes its locale from the system, and the system lacks the Turkish one.
const { major, edgePassword } = stackInfo();

let db: Database;
let name: string;
let url: string;

beforeAll(async () => {
  db = await freshDatabase();
  name = `${db.name}_tr`;
  const other = new URL(db.url);
  other.pathname = `/${name}`;
  url = other.href;
});

afterAll(async () => {
  const admin = await db.connect(db.superUrl);
  await admin.query(`drop database if exists ${name} with (force)`);
  await db.drop();
});

test.skipIf(major < 15)('an expression means the same in a Turkish database', async () => {
  const admin = await db.connect(db.superUrl);
  await admin.query(
    `create database ${name} template template0 owner tock encoding 'UTF8' locale_provider icu icu_locale 'tr'`,
  );
  await prepare(url, edgePassword);
  const client = await db.connect(url);
  const [next] = await rows<{ local_time: string }>(
    client,
    "select local_time from tock.next_fires(p_cron => '0 3 * * FRI', p_after => '2027-01-01T12:00:00Z', p_count => 1)",
  );
  expect(next?.local_time).toBe('2027-01-08 03:00:00');
  // U+0663 is a digit in Unicode, but cron expressions take ASCII digits only.
  for (const cron of ['٣ 3 * * *', '0 3 ٣W * *'])
    expect(
      await refusal(client.query('select * from tock.next_fires(p_cron => $1)', [cron])),
    ).toMatchObject({ code: 'TK422', detail: 'cron' });
});
