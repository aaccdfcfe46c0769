import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildFolder } from '../../scripts/stack/build_folder.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';
import { sleep } from '../sleep.ts';

let parent: string;
let folder: string;
let made = 0;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'tock-complete-'));
  folder = join(parent, 'tree');
  made = 0;
});
afterEach(() => rmSync(parent, { recursive: true }));

const whole = () => readFileSync(join(folder, 'what'), 'utf8');
const beside = () => readdirSync(parent).filter((name) => name.includes('.new-'));

function complete(recipe: string, before = async () => {}): Promise<void> {
  return buildFolder(folder, recipe, softly, async (fresh) => {
    made++;
    await before();
    writeFileSync(join(fresh, 'what'), recipe);
  });
}

test('a complete folder with the same recipe is kept, and another recipe rebuilds it', async () => {
  await complete('bread');
  await complete('bread');
  expect(made).toBe(1);
  await complete('cake');
  expect([made, whole(), beside()]).toEqual([2, 'cake', []]);
});

test('an incomplete folder is rebuilt, and temporary folders are removed', async () => {
  mkdirSync(folder);
  writeFileSync(join(folder, 'what'), 'ha');
  mkdirSync(join(parent, 'tree.new-1/deep'), { recursive: true });
  await complete('bread');
  expect([made, whole(), beside()]).toEqual([1, 'bread', []]);
});

test('a failed build leaves nothing, and does not change the folder of another recipe', async () => {
  const failed = (recipe: string) =>
    expect(complete(recipe, () => Promise.reject(new Error('no flour')))).rejects.toThrow('flour');
  await failed('bread');
  expect([existsSync(folder), beside()]).toEqual([false, []]);
  await complete('bread');
  await failed('cake');
  expect(whole()).toBe('bread');
});

test('of concurrent builds one builds the folder, and the others use it', async () => {
  const slowly = () => sleep(50);
  await Promise.all([1, 2, 3].map(() => complete('bread', slowly)));
  expect([made, whole()]).toEqual([1, 'bread']);
});
