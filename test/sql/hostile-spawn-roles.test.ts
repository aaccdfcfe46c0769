import { expect, test } from 'vitest';
import { withClient } from '../../scripts/stack/roles.ts';
import { client, databaseEach, db } from './own.ts';
import { claim, complete, enqueue, leaseOf, rows, value } from './support.ts';

databaseEach();

const tag = Math.random().toString(36).slice(2, 8);

async function loginAs(inherit: string, roles: string[], as: string) {
  const [app, login] = [`app_${tag}_${inherit}`, `login_${tag}_${inherit}`];
  await withClient(db.superUrl, async (su) => {
    await su.query(`create role ${app} nologin`);
    for (const r of roles) await su.query(`grant ${r} to ${app}`);
    await su.query(`create role ${login} login ${inherit} password '${tag}'`);
    await su.query(`grant ${app} to ${login}`);
  });
  const url = new URL(db.url);
  url.username = login;
  url.password = tag;
  const one = await db.connect(url.href);
  await one.query(`set role ${as === 'app' ? app : as}`);
  return one;
}

test('S1 a role that was set (PostgREST, poolers) and may enqueue may spawn', async () => {
  const one = await loginAs('noinherit', ['tock_worker', 'tock_producer'], 'app');
  const [id = ''] = await enqueue(one, 'q', [{}]);
  const lease = leaseOf(await claim(one, 'q'));
  const answer = await complete(one, lease, [{ id, spawn: { queue: 'c', tasks: [{}] } }]).catch((e) => e.message);
  await one.end();
  expect(answer).toEqual({ completed: 1, refused: [] });
});

test('S2 a role that was set and may not enqueue may not spawn', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const one = await loginAs('inherit', ['tock_worker', 'tock_producer'], 'tock_worker');
  const direct = await enqueue(one, 'c', [{}]).catch((e) => e.code);
  const lease = leaseOf(await claim(one, 'q'));
  const answer = await complete(one, lease, [{ id, spawn: { queue: 'c', tasks: [{}] } }]).catch((e) => e.code);
  await one.end();
  expect([direct, answer]).toEqual(['42501', 'TK403']);
});

test('S3 the same keys in opposite order, in one enqueue each: a control', async () => {
  const others = await Promise.all([1, 2, 3, 4].map(() => db.connect()));
  const codes: Record<string, number> = {};
  for (let round = 0; round < 6; round++)
    await Promise.all(
      others.map(async (one, w) => {
        const tasks = Array.from({ length: 60 }, (_, k) => ({
          unique_key: `k${round}-${w % 2 ? k : 59 - k}`,
        }));
        const code = await enqueue(one, 'c', tasks).then(
          () => 'ok',
          (e) => e.code,
        );
        codes[code] = (codes[code] ?? 0) + 1;
      }),
    );
  for (const one of others) await one.end();
  expect(codes).toEqual({ ok: 24 });
});

test('S4 a child that is the task itself by on_conflict rerun or replace', async () => {
  for (const on_conflict of ['rerun', 'replace', 'debounce']) {
    const extra = on_conflict === 'debounce' ? { debounce_max_seconds: 1 } : {};
    const keyed = { unique_key: 'k', on_conflict, ...extra };
    const [id = ''] = await enqueue(client, on_conflict, [keyed]);
    await rows(client, 'select tock.promote(100, true)');
    await new Promise((r) => setTimeout(r, 60));
    await rows(client, 'select tock.promote(100, true)');
    const lease = leaseOf(await claim(client, on_conflict));
    const spawn = { tasks: [{ ...keyed, payload: 'for the child' }], wait: true };
    const answer = await complete(client, lease, [{ id, spawn }]).catch((e) => e.code);
    if (answer === 'TK422') continue;
    const after = await value<string[]>(client, "select array(select p.id::text from tock.parents($1) p)", [id]);
    expect([on_conflict, after]).not.toEqual([on_conflict, [id]]);
  }
});

test('S5 cancel finds a task out of a cycle', async () => {
  const [id = ''] = await enqueue(client, 'q', [{ unique_key: 'k' }]);
  const lease = leaseOf(await claim(client, 'q'));
  await complete(client, lease, [{ id, spawn: { tasks: [{ unique_key: 'k' }], wait: true } }]);
  await client.query('select tock.cancel(array[$1::bigint])', [id]);
  expect((await rows(client, 'select state from tock.task($1)', [id]))[0]).toEqual({ state: 'cancelled' });
});
