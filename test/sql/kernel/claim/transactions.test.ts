import type pg from 'pg';
import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  numberedTasks,
  refusal,
  value,
} from '../../verbs.ts';
import { begin, overlapping } from '../sessions.ts';

databasePerTest();

test('a claim that had to wait returns all runs that it leases, later ones included', async () => {
  const call = (on: pg.Client) => claim(on, 'late', { limit: 9, request_id: 'same' });
  let ids: string[] = [];
  const [first, runs] = await overlapping(call, call, 'commit', async () => {
    ids = await enqueue(client, 'late', numberedTasks(3));
  });
  expect(first).toEqual([]);
  expect(runs.map((run) => [run.id, run.payload])).toEqual(ids.map((id, n) => [id, n]));
  expect(await value(client, 'select sum(runs)::int from tock.leases')).toBe(3);
});

test('a run that is claimed and completed in one transaction with other work commits or rolls back with it', async () => {
  await client.query('create table effects (payload jsonb)');
  const ids = await enqueue(client, 'once', numberedTasks(2));
  const work = async (end: 'commit' | 'rollback') => {
    await client.query('begin');
    const runs = await claim(client, 'once', { limit: 2 });
    await client.query('insert into effects select $1::jsonb', [JSON.stringify(runs[0]?.payload)]);
    expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: 2 });
    await client.query(end);
    return runs.map((run) => run.id);
  };
  expect(await work('rollback')).toEqual(ids);
  expect(await value(client, 'select count(*)::int from effects')).toBe(0);
  expect(await work('commit')).toEqual(ids);
  expect(await value(client, 'select count(*)::int from effects')).toBe(1);
  expect(await claim(client, 'once', { limit: 2 })).toEqual([]);
});

const commit = (on: pg.Client) => value<string>(on, "select current_setting('synchronous_commit')");

test('a claim in its own transaction, marked as such, commits asynchronously', async () => {
  await enqueue(client, 'own', numberedTasks(2));
  // The setting lasts until the end of the transaction, so the claim's own statement reads it.
  const setting = `select current_setting('synchronous_commit')
    from tock.claim(p_queue => 'own', p_own_transaction => $1)`;
  expect(await value(client, setting, [true])).toBe('off');
  expect(await commit(client)).toBe('on');
  expect(await value(client, setting, [false])).toBe('on');
});

test('a claim marked as its own transaction, but with earlier writes, commits synchronously', async () => {
  await enqueue(client, 'liar', numberedTasks(1));
  await client.query('begin');
  await client.query('create temporary table work (id int)');
  await client.query("select id from tock.claim(p_queue => 'liar', p_own_transaction => true)");
  expect(await commit(client)).toBe('on');
  await client.query('commit');
});

test('a claim beside other statements in one message, or inside a function, leaves the commit mode unchanged', async () => {
  await enqueue(client, 'beside', numberedTasks(4));
  const answers = (await client.query(
    `select id from tock.claim('beside'); select current_setting('synchronous_commit') as setting`,
  )) as unknown as pg.QueryResult[];
  expect(answers.at(-1)?.rows).toEqual([{ setting: 'on' }]);
  await client.query(`create function wrapped() returns text language plpgsql as $$
    begin
      perform id from tock.claim('beside');
      return current_setting('synchronous_commit');
    end $$`);
  expect(await value(client, 'select wrapped()')).toBe('on');
});

test('an open claim leaves other streams to other claims, and its own runs to none', async () => {
  await enqueue(client, 'shared', numberedTasks(4, 0, { priority: 1 }));
  await enqueue(client, 'shared', numberedTasks(4, 4, { priority: 2 }));
  const other = await begin();
  expect((await claim(other, 'shared', { limit: 2 })).map((run) => run.payload)).toEqual([0, 1]);
  const beside = (await claim(client, 'shared', { limit: 9 })).map((run) => run.payload);
  expect(beside).toEqual([4, 5, 6, 7]);
  expect(await claim(client, 'shared', { limit: 9 })).toEqual([]);
  await other.query('commit');
  const left = (await drain(client, 'shared')).flat();
  expect(left.map((run) => run.payload)).toEqual([2, 3]);
  await expectInvariants(client);
});

test('a claim without its lock is still refused: the primary key of the leases is the fence', async () => {
  await enqueue(client, 'fencing_token', numberedTasks(4));
  const runs = await claim(client, 'fencing_token', { limit: 2 });
  const again = `insert into tock.leases
      (stream, after_position, last_position, runs, token, leased_until)
    select stream, after_position, last_position + 1, runs, gen_random_uuid(), now()
    from tock.leases where token = $1`;
  expect((await refusal(client.query(again, [leaseOf(runs)]))).code).toBe('23505');
});
