import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attempt, lastLines } from './run.ts';

const helper = '/usr/lib/apt/apt-helper';
const ask = (argv: string[]) => attempt(argv, { env: { ...process.env, LC_ALL: 'C.UTF-8' } });

/** Where this machine's apt gets a distribution's main packages from, in the order of its sources. */
export async function aptMirrors(): Promise<string[]> {
  const format = '$(REPO_URI) $(RELEASE) $(COMPONENT)';
  const what = ['indextargets', '--no-release-info', '--format', format, 'Identifier: Packages'];
  const { out } = await ask(['apt-get', ...what]);
  const found = out
    .split('\n')
    .map((line) => line.split(' '))
    // Neither bookworm-updates or -security, which are no whole distribution, nor somebody's extras.
    .filter(([, release, component]) => component === 'main' && !/[-/]/.test(release ?? ''))
    .map(([uri = '']) => uri.replace(/\/$/, ''));
  return [...new Set(found)];
}

/** The first of these mirrors that has this release of Debian; TOCK_DEBIAN_MIRROR goes before them. */
export async function mirrorWith(release: string, mirrors: string[]): Promise<string> {
  const given = process.env.TOCK_DEBIAN_MIRROR;
  const folder = mkdtempSync(join(tmpdir(), 'tock-mirror-'));
  const tried: string[] = [];
  try {
    for (const mirror of given ? [given] : mirrors) {
      // By apt's own program: with the proxies and certificates that apt is set to.
      const index = `${mirror}/dists/${release}/InRelease`;
      const { code, out } = await ask([helper, 'download-file', index, join(folder, 'InRelease')]);
      if (code === 0) return mirror;
      tried.push(`${mirror}: ${lastLines(out, 2).replaceAll('\n', ' ')}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const why = tried.length > 0 ? tried.join('\n') : "apt's sources name no distribution";
  throw new Error(
    `No mirror with Debian ${release} was found:\n${why}\n` +
      'Set TOCK_DEBIAN_MIRROR to the address of one, then run this again.',
  );
}

async function aptProxy(scheme: string, host: string): Promise<string> {
  const name = `Acquire::${scheme}::Proxy`;
  const { out } = await ask(['apt-config', 'dump', '--no-empty', '--format', '%f %v%n', name]);
  const settings = new Map(out.split('\n').map((line) => line.split(' ') as [string, string]));
  return settings.get(`${name}::${host}`) ?? settings.get(name) ?? '';
}

/** The proxy that apt is set to use for an address, as variables that wget reads. */
export async function proxyFor(address: string): Promise<Record<string, string>> {
  const { protocol, hostname } = new URL(address);
  const { out } = await ask([helper, 'auto-detect-proxy', address]);
  const detected = /Using proxy '([^']+)'/.exec(out)?.[1];
  const proxy = detected || (await aptProxy(protocol.replace(':', ''), hostname));
  if (!proxy) return {};
  return proxy === 'DIRECT'
    ? { no_proxy: hostname }
    : { http_proxy: proxy, https_proxy: proxy, no_proxy: '' };
}
