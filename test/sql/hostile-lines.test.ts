import { expect, test } from 'vitest';
import { client, db, oneDatabase } from './own.ts';
import { assign, assignAll, join, offer, take, vanish } from './pools.ts';
import { rows } from './support.ts';

oneDatabase();

const names = (prefix: string, count: number, from = 1) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n + from}`);

/** Joins so many workers w1, w2, … */
const fill = (pool: string, count: number) =>
  client.query(
    "select tock.join_pool($1, 'w' || n, 600) from generate_series(1, $2::int) n order by n",
    [pool, count],
  );

/** So many pairs one after the other, as a line that has been in use for a while has had. */
const used = (pool: string, pairs = 600) =>
  client.query(`
    do $$ begin
      for n in 1 .. ${pairs} loop
        perform tock.join_pool('${pool}', 'used' || n, 600);
        perform tock.assign('${pool}', 'use' || n), tock.leave_pool('${pool}', 'used' || n);
        perform tock.offer('${pool}', array['o' || n]), tock.take('${pool}', 'x' || n);
        perform tock.unassign('${pool}', 'o' || n);
      end loop;
    end $$`);

test('a task of the middle that is assigned by name keeps the line in its order', async () => {
  await offer(client, 'named', names('t', 1000));
  await client.query(
    "select tock.assign('named', 't' || n, 'v' || n) from generate_series(500, 900) n",
  );
  expect(await take(client, 'named', 'x')).toMatchObject({ state: 'taken', task: 't1' });
});

test('a worker of the middle that is named keeps the line in its order', async () => {
  await fill('namedw', 1000);
  await client.query(
    "select tock.assign('namedw', 't' || n, 'w' || n) from generate_series(500, 900) n",
  );
  expect(await assign(client, 'namedw', 'x')).toMatchObject({ state: 'assigned', worker: 'w1' });
});

test('assign_all finds all workers that are free', async () => {
  await fill('partly', 1000);
  await client.query(
    "select tock.assign('partly', 't' || n, 'w' || n) from generate_series(500, 900) n",
  );
  const given = await assignAll(client, 'partly', names('u', 599));
  expect(given.filter(({ state }) => state === 'assigned')).toHaveLength(599);
});

test('who has been brought up is found at once, not after a rest', async () => {
  // 3,000 join in a transaction that others overtake
  const open = await db.connect();
  await open.query('begin');
  await open.query(
    "select tock.join_pool('rest', 'late' || n, 600) from generate_series(1, 3000) n",
  );
  await used('rest');
  await open.query('commit');
  const states: string[] = [];
  for (let call = 0; call < 3; call++) {
    const given = await assignAll(client, 'rest', names(`c${call}-`, 1000));
    states.push(...given.map(({ state }) => state));
  }
  expect(states.filter((state) => state === 'assigned')).toHaveLength(3000);
});

test('empty is never said while thousands of tasks wait', async () => {
  const open = await db.connect();
  await open.query('begin');
  await offer(open, 'batch', names('late', 20000));
  await used('batch');
  await open.query('commit');
  const all = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  let n = 0;
  const states: Record<string, number> = {};
  const left = await Promise.all(
    all.map(async (on) => {
      while (n < 4000) {
        const { state } = await take(on, 'batch', `y${n++}`);
        states[state] = (states[state] ?? 0) + 1;
      }
    }),
  );
  expect(left).toHaveLength(8);
  expect(states).toEqual({ taken: 4000 });
});

test('one large offer beside small ones is found', async () => {
  const other = await db.connect();
  let going = true;
  let small = 0;
  const stream = (async () => {
    while (going) {
      await offer(other, 'beside', [`s${small}`]);
      await take(other, 'beside', `sv${small++}`);
    }
  })();
  await offer(client, 'beside', names('big', 100000));
  going = false;
  await stream;
  const states: Record<string, number> = {};
  for (let n = 0; n < 3000; n++) {
    const { state } = await take(client, 'beside', `z${n}`);
    states[state] = (states[state] ?? 0) + 1;
  }
  console.log('small', small, states);
  expect(states).toEqual({ taken: 3000 });
}, 60_000);

test('one take in an open transaction leaves the other tasks to others', async () => {
  const open = await db.connect();
  await open.query('begin');
  await offer(open, 'hold', names('late', 500));
  await used('hold');
  await open.query('commit');
  await open.query('begin');
  expect(await take(open, 'hold', 'a')).toMatchObject({ state: 'taken' });
  await new Promise((done) => setTimeout(done, 3000));
  const seen = await take(client, 'hold', 'b');
  await open.query('rollback');
  expect(seen).toMatchObject({ state: 'taken' });
});

test('one assign in an open transaction leaves the other free workers to others', async () => {
  const open = await db.connect();
  await open.query('begin');
  await open.query(
    "select tock.join_pool('holdw', 'late' || n, 600) from generate_series(1, 500) n",
  );
  await used('holdw');
  await open.query('commit');
  await open.query('begin');
  expect(await assign(open, 'holdw', 'a')).toMatchObject({ state: 'assigned' });
  await new Promise((done) => setTimeout(done, 3000));
  const seen = await assign(client, 'holdw', 'b');
  await open.query('rollback');
  expect(seen).toMatchObject({ state: 'assigned' });
});

test('a free worker is found behind 1,100 that have vanished', async () => {
  await fill('gone', 1100);
  await client.query(
    "update tock.places set leased_until = now() - interval '1 second' where pool = 'gone'",
  );
  await join(client, 'gone', 'alive');
  expect(await assign(client, 'gone', 't')).toMatchObject({ state: 'assigned', worker: 'alive' });
});

test('who beats is found while the duty, in its transaction, has looked at it', async () => {
  await fill('looked', 3);
  await client.query(
    "update tock.places set look_at = now() - interval '1 second' where pool = 'looked'",
  );
  const open = await db.connect();
  await open.query('begin');
  await open.query('select tock.reap_pools(p_sweep => true)');
  const seen = await assign(client, 'looked', 't');
  await open.query('rollback');
  expect(seen).toMatchObject({ state: 'assigned' });
});

test('who is told that it is free is free', async () => {
  await join(client, 'told', 'w');
  await vanish(client, 'told', 'w');
  const open = await db.connect();
  await open.query('begin');
  await open.query('select tock.reap_pools(p_sweep => true)');
  const told = await join(client, 'told', 'w', { seconds: 600 });
  await open.query('commit');
  expect(Number(told.leased_until)).toBeGreaterThan(Date.now());
  expect(await assign(client, 'told', 't')).toMatchObject({ state: 'assigned' });
});

test('pools that nobody is in any more cost the duty nothing', async () => {
  await client.query(`insert into tock.line_marks (pool, line, number, reached)
    select 'old' || n, l, n * 10 + m, n from generate_series(1, 20000) n, generate_series(1, 4) m,
      unnest(array['free', 'waiting']) l`);
  await client.query('analyze tock.line_marks');
  const started = performance.now();
  await client.query("select tock.run_duty('pools', 0)");
  const took = performance.now() - started;
  const [left] = await rows(
    client,
    "select count(*)::int n from tock.line_marks where pool like 'old%'",
  );
  console.log('duty with 20,000 old pools, ms', took, left);
  const again = performance.now();
  await client.query("select tock.run_duty('pools', 0)");
  console.log('again, ms', performance.now() - again);
  expect(took).toBeLessThan(2000);
}, 100_000);

test('the next page of a pool follows though all of one are past their end', async () => {
  await fill('pages', 30);
  await client.query(
    "update tock.places set leased_until = now() - interval '1 second' where pool = 'pages' and worker < 'w2'",
  );
  const page = await rows(client, "select * from tock.pool('pages', p_limit => 10)");
  expect(page.length).toBeGreaterThan(0);
});
