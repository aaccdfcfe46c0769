import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { promtool } from '../../scripts/stack/promtool.ts';
import { fileService } from './file_service.ts';

const tock = fileService();
let program: string | null;
beforeAll(async () => {
  program = await promtool();
});
beforeEach(({ skip }) => skip(program === null, 'there is no promtool, and no apt to fetch it'));

function check(args: string[], input = '') {
  const { status, stdout, stderr } = spawnSync(program as string, ['check', ...args], {
    input,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

test('promtool accepts the metrics of an empty Tock, and of one with tasks', async () => {
  const metrics = async () => (await tock.send('GET /metrics')).text;
  expect(check(['metrics'], await metrics())).toEqual({ status: 0, output: '' });
  await tock.add('shop', {}, {});
  await tock.claim('shop');
  await tock.owner.query('select tock.collect_metrics()');
  const text = await metrics();
  expect(text).toContain('tock_runs_started_total{queue="shop"} 1\n');
  expect(check(['metrics'], text)).toEqual({ status: 0, output: '' });
  const misnamed = check(['metrics'], text.replaceAll('tock_runs_lost_total', 'tock_runs_lost'));
  expect(misnamed).toEqual({ status: 3, output: expect.stringContaining('"_total"') });
});

test('promtool accepts the rules for alerts', () => {
  const rules = join(checkout, 'monitoring', 'alerts.yaml');
  const count = readFileSync(rules, 'utf8').match(/- alert:/g)?.length;
  expect(check(['rules', rules])).toMatchObject({
    status: 0,
    output: expect.stringContaining(`SUCCESS: ${count} rules found`),
  });
});
