import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { dockerAnswers } from '../../scripts/stack/engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-docker-'));
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rmSync(folder, { recursive: true }));

function docker(script: string): void {
  writeFileSync(join(folder, 'docker'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'docker'), 0o755);
  vi.stubEnv('PATH', `${folder}:/usr/bin:/bin`);
}

test.each([
  ['a client without an engine', 'echo "Client: 28.2.2"; exit 1', false],
  ['a client that says nothing about the server', 'echo; echo "Cannot connect" >&2', false],
  ['an engine that does not answer in time', 'exec sleep 60', false],
  ['an engine that answers with its version', 'echo 28.2.2', true],
])('%s counts as an engine or not', async (_, script, counts) => {
  docker(script);
  expect(await dockerAnswers(script.includes('sleep') ? 0.3 : undefined)).toBe(counts);
});

test('without a client there is no engine', async () => {
  rmSync(join(folder, 'docker'), { force: true });
  vi.stubEnv('PATH', folder);
  expect(await dockerAnswers()).toBe(false);
});
