import { afterAll, beforeAll, expect, test } from 'vitest';
import { askBy } from '../../functions/nodes/ask.ts';
import { type Cluster, cluster } from './cluster.ts';

let tock: Cluster;
beforeAll(async () => {
  tock = await cluster({ here: 1, there: 2 });
});
afterAll(() => tock.drop());

test('a statement by way of ask() gets the values that it would get as parameters', async () => {
  const ask = askBy((text, values) => tock.rows(1, text, values), 'here');
  const text = `it's "100 %" of $1, \\n and %1$L`;
  const rows = await ask(
    `with used as (select 100 % 7 as rest)
     select rest, $1 as text, $2::text[] as list, $3::bigint + 1 as number, $4::boolean as flag, $5::text as none,
       $10::jsonb as object from used`,
    [text, [text, null, '{}', ''], 41, true, undefined, 6, 7, 8, 9, { a: [1] }],
  );
  expect(rows).toEqual([
    {
      rest: 2,
      text,
      list: [text, null, '{}', ''],
      number: 42,
      flag: true,
      none: null,
      object: { a: [1] },
    },
  ]);
  expect(await ask('select 1 as one where false')).toEqual([]);
  await expect(ask("select tock.refuse(422, 'no', 'field', 'hint')")).rejects.toMatchObject({
    code: 'TK422',
    detail: 'field',
  });
});

test('a call that Citus could not send on since a shard was replaced is sent again once', async () => {
  const ask = askBy((text, values) => tock.rows(1, text, values), 'here');
  await tock.rows(1, 'create sequence sent');
  await tock.rows(
    1,
    `create function fails(p_times bigint, p_message text) returns text language plpgsql as $$ begin
       if nextval('sent') <= p_times then raise '%', p_message using errcode = 'XX000'; end if;
       return 'done';
     end $$`,
  );
  const failing = async (times: number, message: string) => {
    await tock.rows(1, "select setval('sent', 1, false)");
    return ask('select fails($1, $2) as state', [times, message]);
  };
  const message = 'could not find valid entry for shard 102037';
  expect(await failing(1, message)).toEqual([{ state: 'done' }]);
  await expect(failing(2, message)).rejects.toMatchObject({ status: 503 });
  await expect(failing(1, 'another')).rejects.toMatchObject({ code: 'XX000', message: 'another' });
});

test('each node is asked by a range of its own, which stays with it when other names move', async () => {
  const by = await cluster({ here: 1, there: 2, ':10': 2 }, { ask: true });
  const setOnBoth = async (sql: string) => {
    for (const node of [1, 2]) await by.rows(node, sql);
  };
  // A range that no node has, whose name belongs to node 2 by its hash, until that node is drained.
  await setOnBoth('delete from tock_nodes.ranges where range = 10');
  for (const queue of ['here', 'there']) await by.send(`POST /v1/queues/${queue}/tasks`, {});
  const queues = async () => {
    const { body } = await by.send('GET /v1/queues');
    return body.queues.map(({ name, ready }: Record<string, unknown>) => [name, ready]);
  };
  const both = [
    ['here', 1],
    ['there', 1],
  ];
  expect(await queues()).toEqual(both);
  await setOnBoth("update tock_nodes.keys set node = 1 where key = ':10'");
  expect(await queues()).toEqual(both);
  await by.drop();
});

test('a key that one node cannot copy is made on none', async () => {
  await tock.rows(2, 'drop function tock_nodes.copy_key');
  const body = { name: 'half', scopes: ['read'] };
  expect(await tock.send('POST /v1/keys', body)).toMatchObject({
    status: 409,
    body: { detail: 'The directory of nodes cannot copy keys.' },
  });
  const sql = "select revoked_at is not null as revoked from tock.keys where name = 'half'";
  expect(await tock.rows(1, sql)).toEqual([{ revoked: true }]);
  expect(await tock.rows(2, sql)).toEqual([]);
});
