import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { claim, value } from '../../verbs.ts';
import { purge } from './bulk_changes.ts';

databasePerFile();

test('200,000 ready tasks are purged with one row for each stream', async () => {
  const before = await value<number>(client, 'select count(*)::int from tock.leases');
  await client.query(
    `select tock.enqueue('q', (select jsonb_agg(jsonb_build_object('payload', n)) from generate_series(1, 50000) n))
     from generate_series(1, 4)`,
  );
  expect(await purge(client, 'q')).toMatchObject({ ready: '200000', more: false });
  const streams = await value<number>(
    client,
    "select count(*)::int from tock.streams where queue = 'q'",
  );
  expect(await value(client, 'select count(*)::int from tock.leases')).toBe(before + streams);
  expect(await claim(client, 'q')).toEqual([]);
});
