import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Host } from '../../scripts/stack/host.ts';
import { openHost } from '../../scripts/stack/open_host.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { alive, identify } from '../../scripts/stack/processes.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';
import { sweepTests } from '../../scripts/stack/sweep.ts';
import { stackInfo } from '../database.ts';

// scripts/check/versions.ts runs this file on every version of PostgreSQL, because versions have different origins.
let host: Host;

beforeAll(async () => {
  const name = `test-${process.pid}-host-${randomBytes(3).toString('hex')}`;
  host = await openHost({ name, ports: [], reporter: softly, kept: false });
});

afterAll(async () => {
  await host.remove(host.folder);
  await host.close?.();
});

test('a host runs the PostgreSQL that it describes, and not as root', async () => {
  const major = Number(process.env.TOCK_TEST_POSTGRES) || stackInfo().major;
  expect([host.major, stackInfo().major]).toEqual([major, major]);
  const version = await host.run([`${host.bin}/postgres`, '--version']);
  expect(version).toMatch(new RegExp(`^postgres \\(PostgreSQL\\) ${major}\\.`));
  expect((await host.run(['id', '-u'])).trim()).not.toBe('0');
});

test("a path means the same for the host's programs and for this process", async ({ skip }) => {
  const path = join(host.folder, 'told');
  await host.write(path, 'by us');
  expect(await host.run(['cat', path])).toBe('by us');
  await host.run(['sh', '-c', 'echo by them > "$1"', 'sh', path]);
  expect(await host.read(path)).toBe('by them\n');
  skip(!host.local, 'the files of a container are not ours');
  expect(readFileSync(path, 'utf8')).toBe('by them\n');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a cluster ends with the process that started it, and its folder is swept', async ({
  skip,
}) => {
  skip(!host.local, "testcontainers' reaper ends a container");
  const script = `
    const { testCluster } = await import(${JSON.stringify(join(checkout, 'scripts/stack/test_cluster.ts'))});
    const made = await testCluster('tock', { step: (name, work) => work(), note() {} });
    console.log(JSON.stringify([made.cluster.pid, made.cluster.data]));
    await new Promise((resolve) => setTimeout(resolve, 600_000));`;
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = await new Promise<string>((resolve) => starter.stdout.once('data', resolve));
  const [pid, data] = JSON.parse(String(output)) as [number, string];
  const postmaster = identify(pid);
  expect(alive(postmaster)).toBe(true);
  const over = new Promise((resolve) => starter.once('close', resolve));
  starter.kill('SIGKILL');
  await over;
  await expect.poll(() => alive(postmaster)).toBe(false);
  expect(existsSync(data)).toBe(true);
  await sweepTests();
  expect(existsSync(dirname(data))).toBe(false);
});
