import { expect, test } from 'vitest';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { cli, env } = transports('enqueue,claim,read');
let count = 0;

test('tasks wait for their parents and list them', async () => {
  const queue = `after${++count}`;
  const lines = [{ name: 'a' }, { payload: 'b', depends_on: ['a'] }].map((task) =>
    JSON.stringify(task),
  );
  const made = await tock(['enqueue', queue, '--tasks'], { env: env(), input: lines.join('\n') });
  const [a = '', b = ''] = made.out.trim().split('\n');
  const last = ['enqueue', queue, '"c"', '--depends-on', `${a},${b}`, '--include-results'];
  const c = (await cli(...last, '--on-parent-failure', 'run')).out.trim();
  const { lease } = JSON.parse((await cli('claim', queue, '--json')).out);
  await cli('complete', lease);
  expect((await cli('parents', c)).out).toMatch(
    new RegExp(`n +task +name +state +result\\n1 +${a} +- +done +-\\n2 +${b} +- +ready +-\\n`),
  );
  expect((await cli('parents', a)).err).toBe(`Task ${a} depends on no other task.\n`);
  expect(await cli('parents', '99999999')).toMatchObject({ code: 3 });
  expect((await cli('children', a)).out).toMatch(
    new RegExp(`task +queue +state\\n${b} +${queue} +ready\\n${c} +${queue} +waiting\\n`),
  );
  expect((await cli('children', a, '--limit', '1')).err).toBe(`There are more: --cursor ${b}\n`);
  expect((await cli('children', c)).err).toBe(`No task depends on task ${c}.\n`);
  expect(await cli('children', '99999999')).toMatchObject({ code: 3 });
  const { options } = JSON.parse((await cli('task', c, '--json')).out);
  expect(options).toEqual({ depends_on: [a, b], include_results: true, on_parent_failure: 'run' });
});

test('a shell script spawns tasks and continues after them', async () => {
  const queue = `spawn${++count}`;
  const id = (await cli('enqueue', queue, '"whole"')).out.trim();
  const { lease } = JSON.parse((await cli('claim', queue, '--json')).out);
  const spawn = JSON.stringify({ queue: `${queue}-parts`, tasks: [{ payload: 1 }], wait: true });
  expect(await cli('complete', lease, '--spawn', spawn)).toMatchObject({ code: 2 });
  expect((await cli('complete', lease, id, '--spawn', spawn)).out).toBe('1 completed\n');
  const part = JSON.parse((await cli('claim', `${queue}-parts`, '--json')).out);
  await cli('complete', part.lease, part.tasks[0].id, '--result', '"r"');
  const [run] = JSON.parse((await cli('claim', queue, '--json')).out).tasks;
  expect(run).toMatchObject({ id, payload: { payload: 'whole', children: [{ result: 'r' }] } });
});
