import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { describeSchema } from './describe_schema.ts';

let db: Database;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

test('sql/schema.sql equals the schema of a fresh database', async () => {
  const schema = await describeSchema(await db.connect());
  await expect(schema).toMatchFileSnapshot('../../sql/schema.sql');
});
