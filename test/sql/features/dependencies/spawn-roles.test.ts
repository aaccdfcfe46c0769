import { expect, test } from 'vitest';
import { withClient } from '../../../../scripts/stack/roles.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, refusal, value } from '../../verbs.ts';

databasePerTest();

/** Roles belong to the cluster, so each run of this file has its own names. */
const tag = Math.random().toString(36).slice(2, 8);

/** A session whose login has the roles through another role, with one of them set. */
async function sessionAs(inherit: string, roles: string[], set: string) {
  const [app, login] = [`app_${tag}_${inherit}`, `login_${tag}_${inherit}`];
  await withClient(db.superUrl, async (su) => {
    await su.query(`create role ${app} nologin`);
    for (const role of roles) await su.query(`grant ${role} to ${app}`);
    await su.query(`create role ${login} login ${inherit} password '${tag}'`);
    await su.query(`grant ${app} to ${login}`);
  });
  const url = new URL(db.url);
  url.username = login;
  url.password = tag;
  const session = await db.connect(url.href);
  await session.query(`set role ${set === 'app' ? app : set}`);
  return session;
}

test('a set role that may enqueue may spawn, whatever the rights of the login', async () => {
  const session = await sessionAs('noinherit', ['tock_worker', 'tock_producer'], 'app');
  const [id = ''] = await enqueue(session, 'q', [{}]);
  const lease = leaseOf(await claim(session, 'q'));
  const spawn = { queue: 'c', tasks: [{}] };
  expect(await complete(session, lease, [{ id, spawn }])).toEqual({ completed: 1, refused: [] });
  await session.end();
});

test('a set role that may not enqueue may not spawn, whatever the rights of the login', async () => {
  const [id = ''] = await enqueue(client, 'q', [{}]);
  const session = await sessionAs('inherit', ['tock_worker', 'tock_producer'], 'tock_worker');
  expect((await refusal(enqueue(session, 'c', [{}]))).code).toBe('42501');
  const lease = leaseOf(await claim(session, 'q'));
  const error = await refusal(complete(session, lease, [{ id, spawn: { tasks: [{}] } }]));
  expect([error.code, error.message]).toEqual(['TK403', 'role tock_worker may not enqueue']);
  await session.end();
});

/** Completes a run with a spawn, by an API key that is limited to these queues. */
async function withKey(queues: string[], spawn: object) {
  for (const queue of queues) await client.query('select tock.put_queue($1)', [queue]);
  const made = 'select key from tock.create_key($1, $2, $3)';
  const key = await value<string>(client, made, ['k', ['enqueue', 'claim'], queues]);
  const [id] = await enqueue(client, 'mine', [{}]);
  const lease = leaseOf(await claim(client, 'mine'));
  const body = JSON.stringify({ results: [{ id, spawn }] });
  return client.query('select tock.http_complete($1, $2, $3)', [key, lease, body]);
}

test('a key for some queues cannot spawn into another queue through a pipeline', async () => {
  const spawn = { tasks: [{}, { payload: 'forged', pipeline: ['mine', 'theirs'] }] };
  expect((await refusal(withKey(['mine'], spawn))).code).toBe('TK403');
  expect((await withKey(['mine', 'theirs'], spawn)).rowCount).toBe(1);
});

test('a key for some queues cannot read another queue’s results through a task that it spawns', async () => {
  const [secret] = await enqueue(client, 'theirs', [{}]);
  await complete(client, leaseOf(await claim(client, 'theirs')), [{ id: secret, result: 's' }]);
  const spawn = { tasks: [{ depends_on: [secret], include_results: true }] };
  expect(await refusal(withKey(['mine'], spawn))).toMatchObject({
    code: 'TK403',
    detail: 'results[0].spawn.tasks',
  });
  expect(await claim(client, 'mine')).toEqual([]);
});
