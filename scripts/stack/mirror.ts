import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attempt, lastLines } from './run.ts';

const helper = '/usr/lib/apt/apt-helper';
const runApt = (argv: string[]) => attempt(argv, { env: { ...process.env, LC_ALL: 'C.UTF-8' } });

/** The mirrors from which this machine's apt gets a distribution's main packages, in the order of its sources. */
export async function aptMirrors(): Promise<string[]> {
  const format = '$(REPO_URI) $(RELEASE) $(COMPONENT)';
  const what = ['indextargets', '--no-release-info', '--format', format, 'Identifier: Packages'];
  const { output } = await runApt(['apt-get', ...what]);
  const mirrors = output
    .split('\n')
    .map((line) => line.split(' '))
    // This leaves out suites like bookworm-updates and -security, which are incomplete, and extra repositories.
    .filter(([, release, component]) => component === 'main' && !/[-/]/.test(release ?? ''))
    .map(([uri = '']) => uri.replace(/\/$/, ''));
  return [...new Set(mirrors)];
}

/** The first mirror with this release of Debian; TOCK_DEBIAN_MIRROR takes precedence. */
export async function findMirror(release: string, mirrors: string[]): Promise<string> {
  const configured = process.env.TOCK_DEBIAN_MIRROR;
  const folder = mkdtempSync(join(tmpdir(), 'tock-mirror-'));
  const tried: string[] = [];
  try {
    for (const mirror of configured ? [configured] : mirrors) {
      // apt's own program uses apt's proxies and certificates.
      const index = `${mirror}/dists/${release}/InRelease`;
      const { code, output } = await runApt([
        helper,
        'download-file',
        index,
        join(folder, 'InRelease'),
      ]);
      if (code === 0) return mirror;
      tried.push(`${mirror}: ${lastLines(output, 2).replaceAll('\n', ' ')}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const why = tried.length > 0 ? tried.join('\n') : "apt's sources name no distribution";
  throw new Error(
    `No mirror with Debian ${release} was found:\n${why}\n` +
      'Set TOCK_DEBIAN_MIRROR to the URL of one, then repeat the command.',
  );
}

async function aptProxy(scheme: string, host: string): Promise<string> {
  const name = `Acquire::${scheme}::Proxy`;
  const { output } = await runApt([
    'apt-config',
    'dump',
    '--no-empty',
    '--format',
    '%f %v%n',
    name,
  ]);
  const settings = new Map(output.split('\n').map((line) => line.split(' ') as [string, string]));
  return settings.get(`${name}::${host}`) ?? settings.get(name) ?? '';
}

/** The proxy that apt uses for an address, as variables that wget reads. */
export async function proxyFor(address: string): Promise<Record<string, string>> {
  const { protocol, hostname } = new URL(address);
  const { output } = await runApt([helper, 'auto-detect-proxy', address]);
  const detected = /Using proxy '([^']+)'/.exec(output)?.[1];
  const proxy = detected || (await aptProxy(protocol.replace(':', ''), hostname));
  if (!proxy) return {};
  return proxy === 'DIRECT'
    ? { no_proxy: hostname }
    : { http_proxy: proxy, https_proxy: proxy, no_proxy: '' };
}
