import { expect, test } from 'vitest';
import { rerun } from './minds.ts';
import { client, oneDatabase } from './own.ts';
import { complete, rows } from './support.ts';

oneDatabase();

test('large payloads go from table to table', async () => {
  await client.query(`select tock.put_queue($1, '{"max_payload_bytes": 4194304}')`, ['q']);
  const many = 270;
  await client.query(
    `select tock.enqueue($1, jsonb_build_array(jsonb_build_object('payload', repeat('x', 4194000))))
     from generate_series(1, ${many})`,
    ['q'],
  );
  let ids: string[] = [];
  for (;;) {
    const got = await rows<{ id: string; lease: string }>(
      client,
      'select id, lease from tock.claim(p_queue => $1, p_limit => 10)',
      ['q'],
    );
    if (got.length === 0) break;
    ids = [...ids, ...got.map((run) => run.id)];
    await complete(client, got[0]?.lease as string);
  }
  expect(ids).toHaveLength(many);
  const again = await rerun(client, ids);
  expect(again.filter((row) => row.rerun_id)).toHaveLength(many);
}, 120_000);
