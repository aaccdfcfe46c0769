import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { withFileLock } from '../../scripts/stack/file_lock.ts';
import { checkout } from '../../scripts/stack/paths.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-locked-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the file lock of a killed process is free at once', async () => {
  const file = join(folder, 'lock');
  const module = join(checkout, 'scripts/stack/file_lock.ts');
  const hold = `const { withFileLock } = await import(${JSON.stringify(module)});
    await withFileLock(${JSON.stringify(file)}, () => {}, async () => {
      console.log('held');
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    });`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', hold], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => other.stdout.once('data', resolve));
  let waited = false;
  let freed = false;
  const mine = withFileLock(
    file,
    () => {
      waited = true;
      freed = other.kill('SIGKILL');
    },
    async () => ({ waited, freed }),
  );
  expect(await mine).toEqual({ waited: true, freed: true });
});
