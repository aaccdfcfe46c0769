import { beforeEach, expect, test } from 'vitest';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { env } = transports('enqueue,claim,read');
let count = 0;

const cli = (...args: string[]) => tock(args, { env: env() });
let stages: string[] = [];
beforeEach(() => {
  count++;
  stages = ['fetch', 'parse', 'index'].map((stage) => `${stage}-${count}`);
});
const printed = async (...args: string[]) => {
  const { code, out, err } = await cli(...args);
  expect([code, err]).toEqual([0, '']);
  return out.trim();
};
const add = () => printed('enqueue', stages[0] as string, '1', '--pipeline', stages.join());
const claim = async (stage: number) =>
  (await printed('claim', stages[stage] as string)).split(/\s+/) as [string, string, string];

test('a task passes through its stages, skips one, and lists them', async () => {
  const id = await add();
  const [first, same, payload] = await claim(0);
  expect([same, payload]).toEqual([id, '1']);
  await printed('complete', first, id, '--result', '{"n":2}', '--stage', stages[2] as string);
  const [last, , stagePayload] = await claim(2);
  expect(stagePayload).toBe('{"n":2}');
  await printed('complete', last, '--json');
  const shown = await printed('task', id);
  expect(shown).toMatch(/state +done/);
  for (const stage of [stages[0], stages[2]])
    expect(shown).toMatch(new RegExp(`${stage} +1 +done`));
});

test('a task is ended before its last stage', async () => {
  const id = await add();
  const [lease] = await claim(0);
  await printed('complete', lease, id, '--end');
  expect(await printed('task', id)).toMatch(/state +done/);
});

test('mistakes name the option', async () => {
  const id = await add();
  const [lease] = await claim(0);
  const queue = stages[0] as string;
  const cases: [string[], RegExp][] = [
    [['complete', lease, '--stage', 'x'], /--stage and --end are for single tasks/],
    [['complete', lease, id, '--stage', 'x', '--end'], /--stage and --end exclude/],
    [['complete', lease, id, '--stage', 'x'], /--stage must be in the pipeline of this task/],
    [['enqueue', queue, '1', '--pipeline', queue], /--pipeline/],
    [
      ['enqueue', 'other', '1', '--pipeline', stages.join()],
      /--pipeline: queue other is not a stage/,
    ],
  ];
  for (const [args, expected] of cases) {
    const { code, out, err } = await cli(...args);
    expect(err).toMatch(expected);
    expect([code === 0, out]).toEqual([false, '']);
  }
});
