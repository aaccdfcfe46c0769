import { beforeEach, expect, test } from 'vitest';
import { transports } from './transports.ts';

const { cli, out } = transports('enqueue,claim,read');
let count = 0;

let stages: string[] = [];
beforeEach(() => {
  count++;
  stages = ['fetch', 'parse', 'index'].map((stage) => `${stage}-${count}`);
});
const printed = async (...args: string[]) => (await out(...args)).trim();
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

test('mistakes name the option, and a task is ended before its last stage', async () => {
  const id = await add();
  const [lease] = await claim(0);
  const cases: [string[], RegExp][] = [
    [['complete', lease, '--stage', 'x'], /--stage and --end are for single tasks/],
    [['complete', lease, id, '--stage', 'x', '--end'], /--stage and --end exclude/],
    [['complete', lease, id, '--stage', 'x'], /--stage must be in the pipeline of this task/],
    [['enqueue', 'other', '1', '--pipeline', stages.join()], /queue other is not a stage/],
  ];
  for (const [args, expected] of cases) {
    const refused = await cli(...args);
    expect(refused.err).toMatch(expected);
    expect([refused.code === 0, refused.out]).toEqual([false, '']);
  }
  await printed('complete', lease, id, '--end');
  expect(await printed('task', id)).toMatch(/state +done/);
});
