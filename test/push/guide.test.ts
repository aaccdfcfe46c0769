import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { deliver } from '../../functions/push/deliver.ts';
import { postByFetch } from '../../functions/push/post.ts';
import { secretsOf } from '../../functions/push/secret.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { conditionTimeout } from '../timeout.ts';
import { claimToPush } from './receiver.ts';

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
  const env = { TOCK_PUSH_SECRET: 'm'.repeat(32), TOCK_PUSH_PRIVATE: 'allow' };
  const secrets = (generation: number) =>
    secretsOf(env, { queue: 'mail', generation, previous_until: null });
  const good = await secrets(1);
  const port = await anyPort();
  const childEnv = { ...process.env, PORT: String(port), PUSH_SECRET: good.current[0] };
  child = spawn(process.execPath, [file], { env: childEnv, stdio: 'inherit' });
  const url = `http://127.0.0.1:${port}/`;
  await vi.waitUntil(() => fetch(url).catch(() => null), { timeout: conditionTimeout });
  const push = async (generation: number) => {
    const signal = AbortSignal.timeout(conditionTimeout);
    const delivery = { env, post: postByFetch, secrets: await secrets(generation), signal };
    return deliver(url, claimToPush({ payload: { to: 'ann' } }), delivery);
  };
  expect(await push(1)).toEqual({ status: 200, body: { had: { to: 'ann' } } });
  await expect(push(2)).rejects.toThrow('401 from');
});
