import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { audit } from '../../scripts/check/audit.ts';
import { licences, locked, page } from '../../scripts/licences.ts';
import { checkout, home } from '../../scripts/stack/paths.ts';

const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
const { dependencies, devDependencies } = JSON.parse(read('package.json'));
const free = /^(MIT|ISC|0BSD|Unlicense|Apache-2\.0|BSD-[23]-Clause)$/;

test('every package is pinned by a hash, and the packages of users run no install scripts', () => {
  for (const [name, { version, integrity, dev, hasInstallScript }] of locked()) {
    expect(integrity, `${name} ${version}`).toMatch(/^sha512-/);
    if (!dev) expect(hasInstallScript, name).toBeUndefined();
  }
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    expect(version, name).toMatch(/^\d+\.\d+\.\d+(-r\.\d+)?$/);
  }
});

test('every dependency except the basic tools has a documented reason', () => {
  const table = read('docs/decisions/0037-packages.md');
  const reasons = table.split('\n').flatMap((row) => row.split('|')[1]?.split(/[,\s]+/) ?? []);
  for (const name of Object.keys(dependencies)) expect(reasons).toContain(name);
  const plain = /^@types\/|^(@biomejs\/biome|typescript|vitest|testcontainers|wrangler)$/;
  for (const name of Object.keys(devDependencies))
    if (!plain.test(name)) expect(reasons).toContain(name);
});

test('the list of licences matches the lock file, and users get only free licences', () => {
  expect(read(page)).toBe(licences());
  const shipped = locked().filter(([, { dev }]) => !dev);
  expect(shipped.filter(([, { license }]) => !free.test(license ?? ''))).toEqual([]);
});

/** A registry's answer for a package. It has only the version in package-lock.json. */
function packument(name: string): object {
  const version = Object.fromEntries(locked())[name]?.version ?? '0.0.0';
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { name, version } } };
}

/** Starts a registry that answers a request for advisories with these. Returns npm's options for it. */
async function registry(advisories: object, status = 200): Promise<string[]> {
  const server = createServer((request, response) => {
    const { url = '' } = request.resume();
    const isPost = request.method === 'POST';
    response.writeHead(isPost ? status : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(isPost ? advisories : packument(decodeURIComponent(url.slice(1)))));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cache = mkdtempSync(join(home(), 'npm-'));
  onTestFinished(() => {
    server.close();
    rmSync(cache, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  return [`--registry=http://127.0.0.1:${port}`, `--cache=${cache}`];
}

const advisory = (severity: string) => ({
  hono: [{ id: 1, url: 'urn:x', title: 'x', severity, vulnerable_versions: '<999.0.0' }],
});

test('a high advisory for a package of users is found, a low one is not', async () => {
  const high = await audit(await registry(advisory('high')));
  expect(high).toEqual({ found: expect.arrayContaining(['hono *: high']) });
  expect(await audit(await registry(advisory('low')))).toEqual({ found: [] });
});

test('a registry without advisories is reported', async () => {
  const none = await audit(await registry({}, 405));
  expect(none).toEqual({
    cannot: expect.stringMatching(/^The registry returned no advisories: 405/),
  });
});
