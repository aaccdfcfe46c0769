import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { aptMirrors, findMirror, proxyFor } from '../../scripts/stack/mirror.ts';

let folder = '';
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer(({ url: path = '' }, response) => {
    response.statusCode = path.startsWith('/whole/dists/trixie/') ? 200 : 404;
    response.end('here\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterAll(() => server.close());

beforeEach(({ skip }) => {
  skip(!existsSync('/usr/bin/apt-get'), 'this system has no apt');
  folder = mkdtempSync(join(tmpdir(), 'tock-apt-'));
  mkdirSync(join(folder, 'parts'));
  configure('');
  for (const name of ['TOCK_DEBIAN_MIRROR', 'http_proxy']) vi.stubEnv(name, '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  if (folder) rmSync(folder, { recursive: true });
});

/** Configures apt with the sources in `list` and `parts`, and with further settings. */
function configure(settings: string): void {
  const files = { sourcelist: 'list', sourceparts: 'parts', main: 'none', parts: 'none' };
  const lines = Object.entries(files).map(([of, at]) => `Dir::Etc::${of} "${join(folder, at)}";\n`);
  writeFileSync(join(folder, 'apt.conf'), lines.join('') + settings);
  vi.stubEnv('APT_CONFIG', join(folder, 'apt.conf'));
}

test('mirrors are found in apt sources with one line each', async () => {
  writeFileSync(
    join(folder, 'list'),
    `deb [arch=amd64,arm64] http://one.example/debian bookworm main contrib
# deb http://off.example/debian bookworm main
deb-src http://source.example/debian bookworm main
deb http://one.example/debian bookworm-updates main
deb http://safe.example/debian-security bookworm-security main
deb http://docker.example/linux/debian bookworm stable
deb http://flat.example/packages ./
`,
  );
  writeFileSync(join(folder, 'parts/two.list'), 'deb http://two.example/debian/ stable main\n');
  expect(await aptMirrors()).toEqual(['http://one.example/debian', 'http://two.example/debian']);
});

test('mirrors are found in apt sources in the deb822 format', async () => {
  writeFileSync(
    join(folder, 'parts/debian.sources'),
    `Types: deb deb-src
# a remark
URIs: http://one.example/debian
 http://two.example/debian/
Suites: bookworm
 bookworm-updates
Components: main non-free-firmware

Types: deb
URIs: http://safe.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no
`,
  );
  expect(await aptMirrors()).toEqual(['http://one.example/debian', 'http://two.example/debian']);
});

test('the first mirror with the release is used, and a configured one takes precedence', async () => {
  const mirrors = [`${url}/empty`, `${url}/whole`];
  expect(await findMirror('trixie', mirrors)).toBe(`${url}/whole`);
  const none = findMirror('forky', mirrors);
  await expect(none).rejects.toThrow('Set TOCK_DEBIAN_MIRROR');
  await expect(none).rejects.toThrow(`${url}/empty: `);
  await expect(findMirror('trixie', [])).rejects.toThrow("apt's sources name no distribution");
  vi.stubEnv('TOCK_DEBIAN_MIRROR', `${url}/empty`);
  await expect(findMirror('trixie', mirrors)).rejects.toThrow('Set TOCK_DEBIAN_MIRROR');
});

test("apt's proxy is used, except for hosts that apt reaches directly", async () => {
  expect(await proxyFor('http://one.example/debian')).toEqual({});
  configure(
    'Acquire::http::Proxy "http://proxy.example:3142"; Acquire::http::Proxy::two.example "DIRECT";',
  );
  expect(await proxyFor('http://one.example/debian')).toMatchObject({
    http_proxy: 'http://proxy.example:3142',
  });
  expect(await proxyFor('http://two.example/debian')).toEqual({ no_proxy: 'two.example' });
});
