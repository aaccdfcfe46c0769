import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { dockerAnswers } from '../../scripts/stack/engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-docker-'));
afterEach(() => vi.unstubAllEnvs());

function docker(script: string): void {
  writeFileSync(join(folder, 'docker'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'docker'), 0o755);
  vi.stubEnv('PATH', `${folder}:/usr/bin:/bin`);
}

test('a Docker client without an engine does not count as an engine', async () => {
  docker('echo "Client: 28.2.2"; echo "Cannot connect to the Docker daemon" >&2; exit 1');
  expect(await dockerAnswers()).toBe(false);
  docker('echo; echo "Cannot connect to the Docker daemon" >&2');
  expect(await dockerAnswers()).toBe(false);
});

test('an engine that does not answer in time does not count', async () => {
  docker('exec sleep 60');
  expect(await dockerAnswers(0.3)).toBe(false);
});

test('an engine that answers with its version counts, and a missing client does not', async () => {
  docker('echo 28.2.2');
  expect(await dockerAnswers()).toBe(true);
  rmSync(folder, { recursive: true });
  expect(await dockerAnswers()).toBe(false);
});
