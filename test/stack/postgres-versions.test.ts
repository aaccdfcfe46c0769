import { existsSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { releases } from '../../scripts/stack/debian.ts';
import { installedPostgres } from '../../scripts/stack/packages.ts';
import { findPostgresSource } from '../../scripts/stack/postgres_sources.ts';

// With this PATH no Docker engine is found, even if this machine has one.
beforeEach(() => vi.stubEnv('PATH', '/nowhere'));
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const absent = Object.keys(releases)
  .map(Number)
  .filter((major) => !installedPostgres(major));

test('an installed PostgreSQL is used', async ({ skip }) => {
  const installed = installedPostgres();
  if (!installed) return skip('there is no PostgreSQL of the system here');
  expect(await findPostgresSource(installed.major)).toEqual({ source: 'system' });
});

test('a version with pg_cron that is not installed can be built only by root', async ({ skip }) => {
  const [major] = absent;
  if (!major) return skip('all versions are installed here');
  skip(!existsSync('/usr/bin/apt-get'), 'this system has no apt');
  vi.stubEnv('TOCK_DEBIAN_MIRROR', 'http://mirror.example/debian');
  vi.spyOn(process, 'getuid').mockReturnValue(0);
  expect(await findPostgresSource(major)).toEqual({ source: 'debian' });
  vi.spyOn(process, 'getuid').mockReturnValue(1000);
  expect(await findPostgresSource(major)).toEqual({
    cannot: expect.stringContaining('as root: use sudo'),
  });
});

test('an unknown version and an unsupported system have different errors', async () => {
  expect(await findPostgresSource(14)).toEqual({
    cannot: expect.stringContaining('use 15 to 18'),
  });
  vi.spyOn(process, 'platform', 'get').mockReturnValue('sunos');
  expect(await findPostgresSource(18)).toEqual({
    cannot: expect.stringContaining('use such a system'),
  });
});
