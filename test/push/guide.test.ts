import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { conditionTimeout } from '../timeout.ts';
import { push, secretsAt } from './receiver.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-guide-push-'));
let child: ChildProcess | undefined;
afterAll(() => {
  child?.kill();
  rmSync(folder, { recursive: true });
});

test("the guide's receiver accepts only requests that its secret has signed", async () => {
  const page = readFileSync(join(checkout, 'docs/guides/push.md'), 'utf8');
  const [, script = ''] = /```js\n(import [^`]*?standardwebhooks[^`]*?)```/.exec(page) ?? [];
  const file = join(folder, 'receiver.mjs');
  writeFileSync(
    file,
    script.replace("'standardwebhooks'", `'${import.meta.resolve('standardwebhooks')}'`),
  );
  const [PUSH_SECRET] = (await secretsAt()).current;
  const port = await anyPort();
  const childEnv = { ...process.env, PORT: String(port), PUSH_SECRET };
  child = spawn(process.execPath, [file], { env: childEnv, stdio: 'inherit' });
  const url = `http://127.0.0.1:${port}/`;
  await vi.waitUntil(() => fetch(url).catch(() => null), { timeout: conditionTimeout });
  const task = { payload: { to: 'ann' } };
  expect(await push(url, task)).toEqual({ status: 200, body: { had: { to: 'ann' } } });
  await expect(push(url, task, 2)).rejects.toThrow('401 from');
});
