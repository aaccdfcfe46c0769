import { expect, test } from 'vitest';
import { die } from '../sql/features/bulk_changes/bulk_changes.ts';
import { claim, enqueue, fail } from '../sql/verbs.ts';
import { transports } from './transports.ts';

const { cli: run, connect, json } = transports('enqueue,read,admin');
let count = 0;

test('dead tasks are grouped by error, redriven and listed', async () => {
  const queue = `cli${++count}`;
  const ids = await die(await connect(), queue, ['no user', 'timeout', 'timeout']);
  const { out } = await run('dead', queue);
  expect(out).toMatch(/^dead +newest +task +error\n +2 +\S+ \S+ +\d+ +timeout\n +1 .*no user\n$/);
  const listed = await json('tasks', queue, '--state', 'dead', '--error', 'timeout');
  expect(listed.tasks.map((task: { id: string }) => task.id)).toEqual(ids.slice(1).toReversed());
  const done = await json('redrive', queue, '--error', 'timeout', '--to', `${queue}-b`);
  expect(done).toMatchObject({ redriven: 2, ids: [expect.any(String), expect.any(String)] });
  expect((await json('dead', queue)).groups).toMatchObject([{ error: 'no user', tasks: 1 }]);
  expect((await run('tasks', `${queue}-b`)).out).toMatch(/ready.*\n.*ready/);
  expect((await run('task', ids[1] as string)).out).toMatch(/rerun as +\d+\n/);
  expect((await run('task', done.ids[0])).out).toMatch(/rerun of +\d+\n/);
  expect((await run('redrive', queue, '--to', '*')).code).toBe(2);
});

test('changes go on in the background, and are listed and stopped', async () => {
  const queue = `cli${++count}`;
  const client = await connect();
  const dead = await die(client, queue, ['timeout', 'timeout']);
  await enqueue(client, queue, [{ tenant: 'a' }, { tenant: 'b' }]);
  const start = async (command: string, ...args: string[]) =>
    (await json(command, queue, ...args, '--background')).id as string;
  const raised = await start('reprioritize-where', '--priority', '0', '--tenant', 'b');
  const redrive = ['--error', 'timeout', '--reason', 'mended', '--request-id', queue];
  const redriven = await start('redrive', ...redrive);
  expect(await start('redrive', ...redrive)).toBe(redriven);
  expect((await run('bulk-changes', '--queue', queue)).out).toMatch(
    /^id +change +queue .*\n *\d+ +redrive .*"reason":"mended".* running +0 .*\n *\d+ +reprioritize .*\n$/,
  );
  for (let n = 0; n < 2; n++) await client.query('select tock.run_bulk_changes()');
  const changes = await json('bulk-changes', '--queue', queue);
  expect(changes).toMatchObject([
    { id: redriven, state: 'done', changed: 2 },
    { id: raised, state: 'done', changed: 1 },
  ]);
  expect((await run('task', dead[0] as string)).out).toMatch(/rerun as +\d+\n/);
  const { out } = await run('cancel-where', queue, '--background');
  const [, id = ''] = /^bulk change (\d+) has started: tock bulk-changes \1\n$/.exec(out) ?? [];
  expect(await json('bulk-changes', id, '--stop')).toMatchObject({ id, state: 'stopped' });
  expect(await run('bulk-changes', '4711')).toMatchObject({
    code: 3,
    err: 'There is no bulk change 4711.\nSee: tock bulk-changes\n',
  });
  expect((await run('bulk-changes', '--stop')).code).toBe(2);
  expect((await run('cancel-where', `${queue}-none`, '--background')).code).toBe(3);
});

test('a redrive ends although all its tasks die again', async () => {
  const queue = `cli${++count}`;
  const client = await connect();
  await die(client, queue, Array(1100).fill('x'));
  let ended = false;
  const worker = async () => {
    while (!ended) {
      const runs = await claim(client, queue, { limit: 1000 });
      if (runs[0]) await fail(client, runs[0].lease, { error: 'x', fatal: true });
    }
  };
  const working = worker();
  const { out } = await run('redrive', queue).finally(() => {
    ended = true;
  });
  await working;
  expect(out).toBe('1100 dead tasks are rerun again\n');
});

test('an ended task is rerun, and a task that has not ended is refused', async () => {
  const queue = `cli${++count}`;
  const [id] = (await die(await connect(), queue, ['x'])) as [string];
  const first = await json('rerun', id, '--request-id', queue, '--reason', 'mended');
  expect(await json('rerun', id, '--request-id', queue, '--reason', 'mended')).toEqual(first);
  const again = first.tasks[0].rerun_id;
  const late = await run('rerun', again);
  expect(late).toMatchObject({ code: 1, out: `${again} has not ended: it is ready\n` });
  expect((await run('rerun', '1048576000')).code).toBe(3);
});

test('tasks are moved, cancelled and reprioritized, and a queue is purged and dropped', async () => {
  const queue = `cli${++count}`;
  const tenants = ['a', 'b', 'a', 'b'].map((tenant) => ({ tenant }));
  const ids = await enqueue(await connect(), queue, tenants);
  const moved = await run('move', `${queue}-b`, ids[0] as string);
  expect(moved).toMatchObject({ code: 0, out: `${ids[0]} is now in ${queue}-b\n` });
  expect((await run('move', `${queue}-b`, ids[0] as string)).code).toBe(1);
  const first = await run('reprioritize-where', queue, '--priority', '0', '--tenant', 'b');
  expect(first.out).toBe('2 tasks now have priority 0\n');
  expect((await run('cancel-where', queue, '--tenant', 'a')).out).toBe('1 task is cancelled\n');
  expect(await json('purge', queue)).toMatchObject({ ready: 2, waiting: 0, more: false });
  expect((await run('drop', queue)).code).toBe(1);
  expect((await run('drop', queue, '--force')).out).toBe(`${queue} is dropped\n`);
  expect((await run('drop', queue, '--force')).code).toBe(3);
});
