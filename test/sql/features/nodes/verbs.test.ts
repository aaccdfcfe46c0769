import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { enqueue, refusal, row, rows, value } from '../../verbs.ts';
import { putDirectory } from './directory.ts';

// Node 1 of two without Citus: a call for a key of node 2 runs here, where the guard refuses it.
let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
  await client.query('select tock.found_range(1)');
  await putDirectory(client, 1, { here: 1, there: 2, ':1': 1, ':2': 2 });
});
afterAll(() => db.drop());

type Run = { lease: string; id: string; payload: unknown };

const claimed = (queue: string, limit = 1) =>
  rows<Run>(client, 'select * from tock_nodes.claim(p_queue => $1, p_limit => $2)', [queue, limit]);

const enqueued = (queue: string, tasks: object[]) =>
  value<string[]>(client, 'select tock_nodes.enqueue($1, $2)', [queue, JSON.stringify(tasks)]);

test('the verbs give the same answers as those of the schema tock', async () => {
  const payload = { text: "it's 100% $1 %1$L", number: 1.5 };
  const ids = await enqueued('here', [{ payload }, {}, {}, {}]);
  expect(ids).toHaveLength(4);
  const [first] = await claimed('here');
  expect(first).toMatchObject({ id: ids[0], payload });
  const task = 'select * from tock_nodes.task($1)';
  const same = await row(client, 'select * from tock.task($1)', [ids[0]]);
  expect(await row(client, task, [ids[0]])).toEqual(same);
  const extend = 'select * from tock_nodes.extend($1, p_seconds => 600)';
  expect(await row(client, extend, [first?.lease])).toMatchObject({ runs: 1, cancel: [] });
  const complete = 'select * from tock_nodes.complete($1)';
  expect(await row(client, complete, [first?.lease])).toEqual({ completed: 1, refused: [] });
  const [second] = await claimed('here');
  const fail = 'select * from tock_nodes.fail($1, $2)';
  expect(await row(client, fail, [second?.lease, '{"fatal": true}'])).toEqual({
    failed: 1,
    dead: 1,
    refused: [],
  });
  const rest = await claimed('here', 9);
  expect(rest.map((run) => run.id)).toEqual(ids.slice(2));
  const release = 'select * from tock_nodes.release($1, $2)';
  expect(await row(client, release, [rest[0]?.lease, [ids[3]]])).toMatchObject({ released: 1 });
  expect(await rows(client, complete, [first?.lease])).toEqual([{ completed: 1, refused: [] }]);
  expect(await rows(client, task, ['1'])).toEqual([]);
});

test('a verb of the schema tock gets the same types of columns from both', async () => {
  const verbs = ['enqueue', 'claim', 'complete', 'fail', 'extend', 'release', 'task'];
  const types = await rows(
    client,
    `select n.proname from pg_proc n
     join pg_proc t on t.proname = n.proname and t.pronamespace = 'tock'::regnamespace
     where n.pronamespace = 'tock_nodes'::regnamespace and n.proname = any ($1)
       and array(select format_type(a, null) || '' from unnest(n.proallargtypes) a)
         <> array(select format_type(a, null) || '' from unnest(t.proallargtypes) a)
       and t.proname <> 'claim'`,
    [verbs],
  );
  expect(types).toEqual([]);
  const claim = await rows(
    client,
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = 'tock.claimed'::regclass order by attnum`,
  );
  const own = await rows(
    client,
    `select p.proargnames[a.n] as name, format_type(a.type, null) as type
     from pg_proc p cross join lateral unnest(p.proallargtypes) with ordinality a (type, n)
     where p.oid = 'tock_nodes.claim'::regproc and p.proargmodes[a.n] = 't' order by a.n`,
  );
  expect(own).toEqual(claim);
});

test('a key of another node that a call asks here is refused by the guard', async () => {
  for (const call of [enqueued('there', [{}]), claimed('there')])
    expect(await refusal(call)).toMatchObject({ code: 'TK421' });
  const id = (2n ** 54n).toString();
  const task = rows(client, 'select * from tock_nodes.task($1)', [id]);
  expect(await refusal(task)).toMatchObject({ code: 'TK421', message: `task ${id} is on node 2` });
  const none = rows(client, 'select * from tock_nodes.complete(null)');
  expect(await refusal(none)).toMatchObject({ code: 'TK422' });
});

test('the key of a task or lease names its range', async () => {
  const [id] = await enqueue(client, 'here', [{}]);
  const [run] = await claimed('here');
  expect(await value(client, 'select tock_nodes.task_key($1)', [id])).toBe(':1');
  expect(await value(client, 'select tock_nodes.lease_key($1)', [run?.lease])).toBe(':1');
});

test('a claim from a queue that has moved asks first where it comes from', async () => {
  const keys = 'select tock_nodes.claim_keys($1)';
  expect(await value(client, keys, ['here'])).toEqual(['here']);
  await client.query("insert into tock_nodes.moves values ('here', 2)");
  expect(await value(client, keys, ['here'])).toEqual([':2', 'here']);
  await client.query('delete from tock_nodes.moves');
});

test('a claim by ask() is its own transaction, by a function within ask() it is not', async () => {
  await client.query(`create or replace function public.claimed_within() returns text
    language plpgsql as $$ begin
      return (select c.id from tock.claim('here', p_own_transaction => true) c);
    end $$`);
  const commit = `pg_catalog.current_setting('synchronous_commit')`;
  const asked = async (statement: string) => {
    await enqueued('here', [{}]);
    return value(client, 'select * from tock_nodes.ask($1, $2)', ['here', statement]);
  };
  const own = `select ${commit} from tock.claim('here', p_own_transaction => true) c where c.id > 0`;
  expect(await asked(own)).toBe('off');
  expect(await asked(`${own} -- \n or true`)).toBe('off');
  const within = `select ${commit} from (select public.claimed_within() as id offset 0) c where c.id > '0'`;
  expect(await asked(within)).toBe('on');
});

test('the role of the HTTP server reads the nodes and their ranges', async () => {
  const edge = await db.connect(db.edgeUrl);
  expect(await rows(edge, 'select * from tock_nodes.nodes order by node')).toEqual([
    { node: 1, name: 'node 1', address: 'localhost' },
    { node: 2, name: 'node 2', address: 'localhost' },
  ]);
  expect(await value(edge, "select tock_nodes.owner('there')")).toBe(2);
  expect(await value(edge, 'select tock_nodes.this_node()')).toBe(1);
  const ask = `select * from tock_nodes.ask(':1', 'select current_user::text')`;
  expect(await value(edge, ask)).toBe('tock_edge');
});

test('a key of another node is copied with its secret, and its rotation too', async () => {
  const other = await freshDatabase();
  const there = await other.connect();
  const make = "select row_to_json(k) from tock.create_key('k', '{read}', p_rate_limit => 5) k";
  const key = await value<{ key: string; prefix: string }>(there, make);
  const copy = (row: unknown) =>
    value(client, 'select tock_nodes.copy_key($1)', [JSON.stringify(row)]);
  expect(await copy(key)).toBe(true);
  expect(await copy(key)).toBe(false);
  const known = (secret: string) => value(client, 'select tock.known_key($1)', [secret]);
  expect(await known(key.key)).toBe(await value(there, 'select tock.known_key($1)', [key.key]));
  const rotated = await value<{ key: string; replaces: string }>(
    there,
    'select row_to_json(k) from tock.rotate_key($1) k',
    [key.prefix],
  );
  expect(await copy(rotated)).toBe(true);
  const list =
    'select prefix, name, rate_limit, expires_at is null as kept, replaced_by from tock.keys_list()';
  const listed = await rows(client, list);
  expect(listed).toEqual(await rows(there, list));
  expect(listed).toMatchObject([{ kept: false }, { kept: true, name: 'k', rate_limit: 5 }]);
  for (const wrong of [null, {}, { ...key, key: 'x' }, [key]])
    expect(await refusal(copy(wrong))).toMatchObject({ code: 'TK422', detail: 'key' });
  await other.drop();
});
