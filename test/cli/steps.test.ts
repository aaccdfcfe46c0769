import { expect, test } from 'vitest';
import { transports } from './transports.ts';

const { cli } = transports('enqueue,claim,read');

test('the steps of a task are listed, and a signal wakes the tasks that wait', async () => {
  const id = (await cli('enqueue', 'flow')).out.trim();
  expect((await cli('steps', id)).err).toBe(`Task ${id} has saved no step.\n`);
  expect(await cli('steps', '99999999')).toMatchObject({ code: 3 });
  expect((await cli('signal', 'flow/1', '{"by": "ann"}')).out).toBe('0 tasks continue\n');
  expect((await cli('signal', 'flow/1', '1')).out).toBe(
    'The event had a payload before, which stays.\n',
  );
  expect(await cli('signal', 'flow/2', 'no JSON')).toMatchObject({ code: 2 });
});
