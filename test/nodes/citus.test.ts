import type pg from 'pg';
import { expect } from 'vitest';
import { withClient } from '../../scripts/stack/roles.ts';
import { refusal, rows, value } from '../sql/verbs.ts';
import { withCitus } from './with_citus.ts';

// A coordinator without a schema tock, and nodes. Each test uses queues of its own.
let coordinator: pg.Client;
let nodes: pg.Client[] = [];

const { here, server, cli, place } = withCitus('the tests of Citus', 3, async () => {
  await cli('nodes', 'init', server(1).url, server(2).url);
  coordinator = await server(0).connect();
  nodes = await Promise.all([server(1).connect(), server(2).connect()]);
});

const tasksOf = (node: number, queue: string) =>
  value<number>(
    nodes[node - 1] as pg.Client,
    `select count(*)::int from tock.runs r join tock.streams s on s.number = r.stream where s.queue = $1`,
    [queue],
  );

const port = "select pg_catalog.current_setting('port')";
const portOf = (node: number) => `${server(node).port}`;
const enqueueTask = (queue: string) => `tock_nodes.enqueue('${queue}', '[{}]')`;

here('a call that is alone goes to the owner of its key, from every node', async () => {
  await place('alone', 2);
  const forms = [
    `select tock_nodes.ask('alone', '${port.replaceAll("'", "''")}')`,
    `select a from tock_nodes.ask('alone', '${port.replaceAll("'", "''")}') a`,
    `select max(a) from tock_nodes.ask('alone', '${port.replaceAll("'", "''")}') a`,
    `select * from tock_nodes.ask(p_key => 'alone', p_statement => '${port.replaceAll("'", "''")}')`,
    `with unused as (select random())
     select * from tock_nodes.ask('alone', '${port.replaceAll("'", "''")}')`,
  ];
  for (const client of [coordinator, ...nodes]) {
    for (const form of forms) expect(await value(client, form), form).toBe(portOf(2));
    for (let n = 0; n < 7; n++) {
      const ask = {
        name: 'ask',
        text: 'select * from tock_nodes.ask($1, $2, $3)',
        values: ['alone', 'select %2$L || current_setting(%1$L)', ['port', 'at ']],
      };
      expect((await client.query(ask)).rows).toEqual([{ ask: `at ${portOf(2)}` }]);
    }
  }
});

here(
  'a call of ask() that is not alone runs on the node that was called, where the guard refuses it',
  async () => {
    await place('guarded', 2);
    const statement = "select tock.enqueue(''guarded'', ''[{}]'')::text";
    const ask = `tock_nodes.ask('guarded', '${statement}')`;
    const forms = [
      `select 1, ${ask}`,
      `select * from ${ask} a where a <> current_setting('port')`,
      `select (select a from ${ask} a)`,
      `with used as (select * from ${ask}) select * from used`,
      `select a from ${ask} a join pg_class on relname = 'pg_class'`,
    ];
    for (const form of forms) {
      expect((await refusal(coordinator.query(form))).code, form).toMatch(/^(3F000|42883)$/);
      const refused = await refusal((nodes[0] as pg.Client).query(form));
      expect(refused, form).toMatchObject({ code: 'TK421', message: 'queue guarded is on node 2' });
    }
    expect(await tasksOf(1, 'guarded')).toBe(0);
  },
);

here('a verb of tock_nodes goes to the owner in every form', async () => {
  await place('forms', 2);
  const enqueued = enqueueTask('forms');
  await coordinator.query(
    'create table public.numbers as select 1 as n from generate_series(1, 3)',
  );
  const forms: [string, number][] = [
    [`select ${enqueued}`, 1],
    [`select * from ${enqueued}`, 1],
    [`select 1, ${enqueued}`, 1],
    [`select n, ${enqueued} from public.numbers`, 3],
    [`select (select e from ${enqueued} e)`, 1],
    [`with used as (select * from ${enqueued}) select * from used`, 1],
    [`select count(*) from (select ${enqueued} offset 0) s`, 1],
    [`do $$ begin perform ${enqueued}; end $$`, 1],
    [`begin; select ${enqueued}; commit`, 1],
    [`begin; select ${enqueued}; rollback`, 0],
  ];
  let count = 0;
  for (const [form, more] of forms) {
    await coordinator.query(form);
    count += more;
    expect(await tasksOf(2, 'forms'), form).toBe(count);
  }
  expect(await tasksOf(1, 'forms')).toBe(0);
});

here('an id and a lease name the range of their node, and lead there from every node', async () => {
  await place('ranged', 1);
  await place('ranged-too', 2);
  for (const [queue, range] of [
    ['ranged', 0n],
    ['ranged-too', 1n],
  ] as const) {
    const ids = await value<string[]>(coordinator, `select ${enqueueTask(queue)}`);
    expect(BigInt(ids[0] as string) >> 53n).toBe(range);
    const [run] = await rows<{ id: string; lease: string }>(
      nodes[0] as pg.Client,
      'select * from tock_nodes.claim($1)',
      [queue],
    );
    expect(run?.id).toBe(ids[0]);
    expect(Number.parseInt(run?.lease.slice(-7) ?? '', 16) >> 18).toBe(Number(range));
    const complete = 'select * from tock_nodes.complete($1)';
    for (const client of [coordinator, ...nodes])
      expect(await rows(client, complete, [run?.lease])).toMatchObject([{ completed: 1 }]);
    const task = 'select state from tock_nodes.task($1)';
    for (const client of [coordinator, ...nodes])
      expect(await value(client, task, ids)).toBe('done');
  }
});

here('a transaction over two queues and an own table is whole or not at all', async () => {
  await place('one', 1);
  await place('two', 2);
  await coordinator.query('create table public.orders (id int)');
  const plain = 'select array(select p::text from tock_nodes.plain_tables() p)';
  for (const end of ['rollback', 'commit']) {
    await coordinator.query('begin');
    await coordinator.query('insert into public.orders values (1)');
    expect(await value(coordinator, plain)).toEqual(['orders']);
    await coordinator.query(`select ${enqueueTask('one')}`);
    await coordinator.query(`select ${enqueueTask('two')}`);
    await coordinator.query(end);
    const count = end === 'commit' ? 1 : 0;
    expect(await value(coordinator, 'select count(*)::int from public.orders')).toBe(count);
    expect([await tasksOf(1, 'one'), await tasksOf(2, 'two')]).toEqual([count, count]);
  }
  await coordinator.query("select citus_add_local_table_to_metadata('public.orders')");
  await coordinator.query('begin');
  await coordinator.query('insert into public.orders values (2)');
  expect(await value(coordinator, plain)).toEqual([]);
  await coordinator.query('rollback');
});

here('a transaction of the called node and one other commits in two phases', async () => {
  await place('called', 1);
  await place('other', 2);
  const [node] = nodes as [pg.Client];
  const notices: string[] = [];
  node.on('notice', ({ message }) => notices.push(`${message}`));
  await node.query('set citus.log_remote_commands = on');
  const commit = async (queues: string[]) => {
    notices.length = 0;
    await node.query('begin');
    for (const queue of queues) await node.query(`select ${enqueueTask(queue)}`);
    await node.query('commit');
    return notices.filter((notice) => notice.includes('issuing PREPARE TRANSACTION')).length;
  };
  expect(await commit(['called', 'other'])).toBe(1);
  expect(await commit(['other', 'called'])).toBe(1);
  expect(await commit(['called', 'called'])).toBe(0);
  expect(await commit(['other', 'other'])).toBe(0);
  await node.query('reset citus.log_remote_commands');
});

here('a claim by ask() outside of a transaction is its own transaction', async () => {
  await place('own', 2);
  await coordinator.query(`select ${enqueueTask('own')}`);
  const claim = `select pg_catalog.current_setting(''synchronous_commit'')
    from tock.claim(''own'', p_own_transaction => true) c where c.id > 0`;
  expect(await value(coordinator, `select * from tock_nodes.ask('own', '${claim}')`)).toBe('off');
});

here('a node makes segments and their functions beside the schema of Citus', async () => {
  const [node] = nodes as [pg.Client];
  await node.query('select tock.create_segments(p_ahead => 6)');
  await node.query('select tock.compile_current()');
  const doctor = await rows<{ finding: string }>(node, 'select finding from tock.doctor()');
  const findings = doctor.map(({ finding }) => finding);
  expect(findings).not.toContain('a maintenance job fails');
  expect(findings).not.toContain('queues are on the wrong node');
  expect(findings).not.toContain('ids lead to another node');
});

here('a producer enqueues through the coordinator, and may not claim', async () => {
  await place('rights', 2);
  await coordinator.query("create role shop login password 'secret'");
  await coordinator.query('grant tock_producer to shop');
  const line = `echo "*:*:*:shop:secret" >> .pgpass`;
  for (const n of [0, 1, 2]) await server(n).cluster.host.run(['sh', '-c', line]);
  const url = new URL(server(0).url);
  url.username = 'shop';
  url.password = 'secret';
  await withClient(url.href, async (shop) => {
    expect(await value(shop, `select ${enqueueTask('rights')}`)).toHaveLength(1);
    expect(await value(shop, "select tock_nodes.owner('rights')")).toBe(2);
    const claim = shop.query("select * from tock_nodes.claim('rights')");
    expect(await refusal(claim)).toMatchObject({ code: '42501' });
  });
});
