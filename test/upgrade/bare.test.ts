import type pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { migrate } from '../../migrate/migrate.ts';
import type { Database } from '../database.ts';
import { expectWhole } from '../sql/audit.ts';
import {
  complete,
  drain,
  enqueue,
  leaseOf,
  numbered,
  promote,
  reap,
  rows,
  value,
} from '../sql/support.ts';
import { bareDatabase, upgrade } from './database.ts';
import { releases, withRelease } from './released.ts';

const used: Database[] = [];
afterAll(() => Promise.all(used.map((one) => one.drop())));

const token = '11111111-1111-4111-8111-111110000001';

/** What can be stored once migration n is there, by plain inserts: nobody had routines then. */
const inserts: Record<number, string> = {
  1: `insert into tock.queues (name, lanes, paused) values ('plain', 4, false), ('held', 1, true);
    insert into tock.streams (number, queue, priority, lane, slot, start_after, awake)
      values (1, 'plain', 5, 0, 0, 100, true), (2, 'plain', 9, 3, 0, 0, false);
    select setval('tock.stream_numbers', 2)`,
  2: `insert into tock.runs (stream, position, bytes, payload) select 1, 100 + n, 1, to_jsonb(n) from generate_series(1, 6) n;
    insert into tock.leases (stream, after_position, last_position, runs, token, leased_until, closed_at, outcome)
      values (1, 100, 102, 2, gen_random_uuid(), now(), now(), 'done'),
        (1, 102, 104, 2, '${token}', now() + interval '1 hour', null, null);
    insert into tock.results (stream, position, state, result) values (1, 101, 'done', '1'), (1, 103, 'done', '3');
    select setval('tock.positions', 200)`,
  3: `insert into tock.waiting (position, due_at, bytes, priority, lane, queue, payload)
      values (201, now() - interval '1 minute', 1, 9, 3, 'plain', '7'), (202, now() + interval '1 hour', 1, 9, 3, 'plain', '8');
    insert into tock.requests (verb, queue, request_id, digest, ids)
      values ('enqueue', 'plain', 'old', hashtextextended('[]', 0), array[1]);
    select setval('tock.positions', 202)`,
  4: "update tock.duties set last_ok_at = now() - interval '1 day', failures = 3, last_error = 'old' where name = 'reap'",
  5: `insert into tock.keys (prefix, hash, name, scopes) values ('tock_1', sha256('tock_1_x'), 'old', '{claim}')`,
};

async function bare(release: string, last: number): Promise<[Database, pg.Client]> {
  const db = await bareDatabase();
  used.push(db);
  await withRelease(
    release,
    (directory) => migrate(db.url, { directory }),
    (file) => Number(/^migrations\/(\d+)/.exec(file)?.[1] ?? 99) <= last,
  );
  const client = await db.connect();
  for (const [n, sql] of Object.entries(inserts)) if (Number(n) <= last) await client.query(sql);
  return [db, client];
}

const [release = ''] = releases;

for (const last of [1, 2, 3, 4, 5, 6]) {
  test(`what lay in tables alone after migration ${last} is worked off after the next ones`, async () => {
    const [db, client] = await bare(release, last);
    await upgrade(db);
    await expectWhole(client);
    expect(
      await rows(
        client,
        "select name, lanes, paused from tock.queues where name <> '*' order by 1",
      ),
    ).toEqual([
      { name: 'held', lanes: 1, paused: true },
      { name: 'plain', lanes: 4, paused: false },
    ]);
    if (last >= 2) {
      const open = await value(client, 'select t.state from tock.task(p_id => 104 << 20 | 1) t');
      expect(open).toBe('running');
      expect(
        await complete(client, token, [{ id: String((104 << 20) + 1), result: 4 }]),
      ).toMatchObject({ completed: 1 });
    }
    if (last >= 3) expect(await enqueue(client, 'plain', [], 'old')).toEqual(['1']);
    if (last >= 5) {
      const known = "select tock.authorize(p_key => 'tock_1_x', p_scope => 'claim')";
      expect(await value(client, known)).toBe(true);
    }
    await client.query("update tock.waiting set due_at = now() - interval '1 second'");
    await promote(client);
    await reap(client);
    const fresh = await enqueue(client, 'plain', numbered(2, 50));
    const drained = (await drain(client, 'plain')).flat();
    const payloads = [...(last >= 2 ? [5, 6] : []), ...(last >= 3 ? [7, 8] : []), 50, 51];
    expect(drained.map((run) => run.payload).sort((a, b) => Number(a) - Number(b))).toEqual(
      payloads,
    );
    for (const lease of new Set(drained.map((run) => run.lease))) {
      const runs = drained.filter((run) => run.lease === lease);
      expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: runs.length });
    }
    expect(await value(client, 'select t.state from tock.task(p_id => $1) t', [fresh[0]])).toBe(
      'done',
    );
    await client.query('select tock.tick()');
    expect(
      await rows(client, 'select name, last_error from tock.duties where last_error is not null'),
    ).toEqual([]);
    await expectWhole(client);
  });
}
