import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { client, databasePerTest, db } from '../test_database.ts';
import { enqueue, pidOf, rows, value, waitUntil } from '../verbs.ts';

databasePerTest();

/** A ready and a due task, so that a claim of two also promotes. Every promotion executes `body`. */
async function ridesAlong(body: string): Promise<void> {
  await enqueue(client, 'q', [{ payload: 'ready' }]);
  await enqueue(client, 'q', [{ delay_seconds: 1000 }]);
  await client.query('update tock.waiting set due_at = now()');
  await client.query(
    'update tock.maintenance_jobs set last_started_at = now(), every_seconds = 86400',
  );
  await client.query(
    `create or replace function tock.process_rechecks(p_sweep boolean) returns void language plpgsql volatile
     as 'begin ${body}; end'`,
  );
}

async function claimed(session: pg.Client): Promise<string[]> {
  const runs = await rows<{ payload: string }>(
    session,
    "select * from tock.claim(p_queue => 'q', p_limit => 2, p_own_transaction => true)",
  );
  return runs.map((run) => run.payload);
}

test('a claim skips late maintenance jobs whose rows an open transaction has locked', async () => {
  await enqueue(client, 'q', [{ payload: 'ready' }]);
  await client.query('update tock.maintenance_jobs set last_started_at = null');
  const other = await db.connect();
  await other.query('begin');
  await other.query('update tock.maintenance_jobs set every_seconds = every_seconds');
  expect(await claimed(client)).toEqual(['ready']);
  await other.query('rollback');
  await other.end();
});

describe.each([
  ['promotion', async () => {}],
  [
    'the late maintenance job promote',
    () =>
      client.query(
        "update tock.maintenance_jobs set last_started_at = null where name = 'promote'",
      ),
  ],
])('while a claim does %s on the way', (_, late) => {
  test('its statement_timeout ends the maintenance and not the claim', async () => {
    await ridesAlong('perform pg_sleep(60)');
    await late();
    await client.query("set statement_timeout = '8s'");
    expect(await claimed(client)).toEqual(['ready']);
  });

  test('a query cancel ends the claim, which leases nothing', async () => {
    await ridesAlong('perform pg_sleep(20)');
    await late();
    const other = await db.connect();
    const pid = await pidOf(other);
    const outcome = claimed(other).catch((error: { code: string }) => error.code);
    await waitUntil('the claim sleeps in its maintenance', () =>
      value<boolean>(client, "select wait_event = 'PgSleep' from pg_stat_activity where pid = $1", [
        pid,
      ]),
    );
    await client.query('select pg_cancel_backend($1)', [pid]);
    expect(await outcome).toBe('57014');
    await other.end();
  });
});
