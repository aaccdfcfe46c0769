import { beforeAll, expect, test } from 'vitest';
import { rerun } from './features/bulk_changes/bulk_changes.ts';
import { change } from './kernel/change/changes.ts';
import { client, databasePerFile } from './test_database.ts';
import {
  claim,
  enqueue,
  makeDue,
  numberedTasks,
  promote,
  reap,
  refusal,
  rows,
  value,
} from './verbs.ts';

// The payloads together exceed 1 GB, the maximum of one value in PostgreSQL.
const tasks = 270;

databasePerFile();
beforeAll(async () => {
  await client.query(`select tock.put_queue('q', '{"max_payload_bytes": 4194304}')`);
  await enqueue(client, 'q', numberedTasks(tasks));
  // Written to the table: enqueue() would take a minute to parse the JSON.
  await client.query(
    `update tock.runs set payload = to_jsonb(repeat('x', 4194000)), bytes = 4194002`,
  );
});

const states = async () => {
  const counts = await rows<{ state: string; tasks: number }>(
    client,
    `select w.state, count(*)::int as tasks
     from tock.resolve_tasks(array(select coalesce(task_id, position << 20 | stream) from tock.runs
       union select coalesce(task_id, position << 20) from tock.waiting)) w group by 1`,
  );
  return Object.fromEntries(counts.map((row) => [row.state, row.tasks]));
};

/** Claims all tasks one by one, and does something with each lease. */
const claimAll = (then = 'null') =>
  client.query(
    `do $$ declare v_lease uuid; begin
       loop
         select lease into v_lease from tock.claim('q', p_limit => 1);
         exit when not found;
         ${then};
       end loop;
     end $$`,
  );

test('leases over more than 1 GB of payloads are reaped, and their tasks changed and promoted', async () => {
  await claimAll();
  expect(await states()).toEqual({ running: tasks });
  await client.query("update tock.leases set leased_until = now() - interval '1 s'");
  while ((await reap(client)) > 0);
  expect(await states()).toEqual({ ready: tasks });
  const ids = await value<string[]>(
    client,
    'select array_agg(distinct task_id)::text[] from tock.runs where task_id is not null',
  );
  expect(await change(client, ids, { delay_seconds: 1000 })).toHaveLength(tasks);
  expect(await states()).toEqual({ waiting: tasks });
  await makeDue(client, 'q');
  while ((await promote(client)) > 0);
  expect(await states()).toEqual({ ready: tasks });
  expect((await claim(client, 'q'))[0]?.payload).toHaveLength(4_194_000);
});

test('as many payloads are rerun in one call', async () => {
  // Completes all runs except the one that the test above has claimed.
  await claimAll('perform tock.complete(v_lease)');
  const done = await value<string[]>(
    client,
    `select array_agg(w.task_id)::text[] from tock.resolve_tasks(array(select distinct task_id from tock.runs
       where task_id is not null)) w where w.state = 'done'`,
  );
  const again = await rerun(client, done);
  expect(again.filter((row) => row.rerun_id)).toHaveLength(tasks - 1);
});

test('one payload for many tasks may be up to 64 MiB in all', async () => {
  const ids = await enqueue(client, 'small', numberedTasks(300));
  const error = await refusal(change(client, ids, { payload: 'x'.repeat(262_000) }));
  expect(error).toMatchObject({ code: 'TK422', detail: 'payload' });
  expect(error.message).toContain('64 MiB');
  const some = ids.slice(0, 250);
  expect(await change(client, some, { payload: 'x'.repeat(262_000) })).toHaveLength(250);
});
