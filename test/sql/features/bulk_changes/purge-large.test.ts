import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { claim, value } from '../../verbs.ts';
import { purge } from './bulk_changes.ts';

databasePerFile();

test('200,000 ready tasks are purged with one row for each stream', async () => {
  const before = await value<number>(client, 'select count(*)::int from tock.leases');
  await client.query(
    `select tock.enqueue($1, (select jsonb_agg(jsonb_build_object('payload', n)) from generate_series(1, 50000) n))
     from generate_series(1, 4)`,
    ['q'],
  );
  const from = performance.now();
  expect(await purge(client, 'q')).toMatchObject({ ready: '200000', more: false });
  console.log(`200,000 purged in ${Math.round(performance.now() - from)} ms`);
  const streams = await value<number>(
    client,
    'select count(*)::int from tock.streams where queue = $1',
    ['q'],
  );
  expect(await value<number>(client, 'select count(*)::int from tock.leases')).toBe(
    before + streams,
  );
  expect(await claim(client, 'q')).toEqual([]);
});
