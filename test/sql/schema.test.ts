import { expect, test } from 'vitest';
import { describeSchema } from './describe_schema.ts';
import { client, databasePerFile } from './test_database.ts';

databasePerFile();

test('sql/schema.sql equals the schema of a fresh database', async () => {
  await expect(await describeSchema(client)).toMatchFileSnapshot('../../sql/schema.sql');
});
