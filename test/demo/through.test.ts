import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { execute } from '../cli/tock.ts';
import {
  processesOf,
  removeHome,
  type Started,
  start,
  temporaryHome,
} from '../stack/start_process.ts';

const home = temporaryHome();
let stack: Started;
beforeAll(async () => {
  stack = await start(home);
  await stack.says('Ctrl-C stops everything');
});
afterAll(async () => {
  process.kill(stack.pid, 'SIGINT');
  await stack.exit;
  expect(processesOf(home)).toEqual([]);
  removeHome(home);
});

/** Runs the demo with 100 files on the running stack. row() gives its figures by name. */
async function demo(way: string): Promise<{ out: string; row(name: string): number }> {
  const argv = [process.execPath, 'scripts/demo.ts', '--files', '100', '--through', way];
  const env = { DATABASE_URL: '', TOCK_HOME: home };
  const { code, out, err } = await execute(argv, { cwd: checkout, env });
  expect({ code, err }, out).toEqual({ code: 0, err: '' });
  const row = (name: string) =>
    Number(new RegExp(`^\\| ${name} +\\| +([\\d.]+) \\|$`, 'm').exec(out)?.[1]);
  return { out, row };
}

test("with a Worker's consumer whose workerd is killed, all results are correct", async () => {
  const { out, row } = await demo('consumer');
  expect(out).toMatch(/kill -9 of workerd \(process group \d+\), which held [1-9]\d* tasks/);
  expect([row('tasks'), row('right'), row('wrong')]).toEqual([100, 100, 0]);
  expect(row('lost')).toBeGreaterThanOrEqual(1);
  expect(row('runs')).toBe(100 + row('lost') + row('failed') + row('released'));
});

test('with push to a receiver that is killed, all results are correct', async () => {
  const { out, row } = await demo('push');
  expect(out).toMatch(/kill -9 of the receiver \(process \d+\) while it handled a push/);
  expect([row('tasks'), row('right'), row('wrong')]).toEqual([100, 100, 0]);
  expect(row('failed')).toBeGreaterThanOrEqual(1);
  expect(row('runs')).toBe(100 + row('lost') + row('failed') + row('released'));
});
