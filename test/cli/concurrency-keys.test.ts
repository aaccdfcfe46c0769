import { expect, test } from 'vitest';
import { transports } from './transports.ts';

const { cli, connect } = transports('enqueue,read,admin');
let count = 0;

test('concurrency keys are listed, resized, paused and reset', async () => {
  const queue = `concurrency_keys${++count}`;
  expect(await cli('concurrency', queue)).toMatchObject({ code: 3 });
  await cli('enqueue', queue);
  expect((await cli('concurrency', queue)).err).toBe('No task has used a concurrency key.\n');
  for (let n = 0; n < 3; n++) await cli('enqueue', queue, '--concurrency-key', 'user 1');
  const client = await connect();
  await client.query('select tock.promote(10, true)');
  expect((await cli('concurrency', queue)).out).toMatch(
    /key +limit +holders +waiting\nuser 1 +1 +1 +2\n/,
  );
  const show = async (...args: string[]) =>
    (await cli('concurrency-key', queue, 'user 1', ...args)).out;
  expect(await show()).toBe('user 1: 1 of 1 running, 2 waiting\n');
  expect(await show('--limit', '2')).toBe('user 1: 2 of 2 running, 1 waiting\n');
  expect(await show('--pause')).toBe('user 1: paused, 2 of 2 running, 1 waiting\n');
  expect(await show('--reset')).toBe('user 1: 2 of 1 running, 1 waiting\n');
  expect(await cli('concurrency-key', queue, 'other')).toMatchObject({ code: 3 });
  for (const bad of [
    ['--limit', '0'],
    ['--pause', '--resume'],
    ['--pause', '--reset'],
  ])
    expect(await cli('concurrency-key', queue, 'user 1', ...bad)).toMatchObject({ code: 2 });
});

test('an enqueue with a taken unique key returns the task that has the key', async () => {
  const queue = `keys${++count}`;
  const add = async (...args: string[]) =>
    (await cli('enqueue', queue, ...args, '--unique-key', 'k')).out.trim();
  const id = await add('1', '--expires-in', '60', '--timeout', '5');
  expect(await add('2')).toBe(id);
  const { options } = JSON.parse((await cli('task', id, '--json')).out);
  expect(options).toMatchObject({ unique_key: 'k', timeout_seconds: 5 });
  const newer = await add('3', '--on-conflict', 'replace');
  expect(newer).not.toBe(id);
  expect(JSON.parse((await cli('task', newer, '--json')).out)).toMatchObject({ payload: 3 });
  expect(JSON.parse((await cli('task', id, '--json')).out)).toMatchObject({ state: 'cancelled' });
});
