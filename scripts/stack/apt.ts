import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { attempt, lastLines } from './run.ts';
import type { Say } from './say.ts';

const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' };
const patience = ['-o', 'DPkg::Lock::Timeout=600', '-o', 'Acquire::http::Timeout=30'];
const mark = '# written by Tock for the time of an installation; safe to delete\n';

// Packages start what they install. Ours would take ports 5432 and 6432 for nobody's use.
const shields = [
  { path: '/usr/sbin/policy-rc.d', text: `#!/bin/sh\n${mark}exit 101\n`, mode: 0o755 },
  {
    path: '/etc/postgresql-common/createcluster.d/tock.conf',
    text: `${mark}create_main_cluster = false\n`,
    mode: 0o644,
  },
];

function lowerShields(): void {
  for (const { path } of shields) {
    if (existsSync(path) && readFileSync(path, 'utf8').includes(mark)) rmSync(path);
  }
}

function raiseShields(): void {
  lowerShields();
  for (const { path, text, mode } of shields) {
    if (existsSync(path)) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
  }
}

/** The newest supported PostgreSQL that has packages for itself and for pg_cron. */
export async function newestPackaged(from = 15, to = 18): Promise<number | null> {
  for (let major = to; major >= from; major--) {
    const names = [`postgresql-${major}`, `postgresql-${major}-cron`];
    const { out } = await attempt(['apt-cache', 'policy', ...names], { env });
    const candidates = out.match(/Candidate: (?!\(none\))/g) ?? [];
    if (candidates.length === names.length) return major;
  }
  return null;
}

async function apt(say: Say, args: string[], signal?: AbortSignal) {
  let waiting = false;
  return attempt(['apt-get', ...patience, ...args], {
    env,
    ...(signal && { signal }),
    onLine(line) {
      if (!/Waiting for cache lock|Could not get lock/.test(line) || waiting) return;
      waiting = true;
      say.note('another program is installing packages: waiting for it');
    },
  });
}

export async function aptUpdate(say: Say, signal?: AbortSignal): Promise<void> {
  await say.step('Updating the list of packages (apt-get update)', async () => {
    const { code, out } = await apt(say, ['update', '-q'], signal);
    signal?.throwIfAborted();
    if (code !== 0) say.note(`it failed; trying with the list as it is:\n${lastLines(out, 4)}`);
  });
}

export async function aptInstall(say: Say, names: string[], signal?: AbortSignal): Promise<void> {
  await say.step(`Installing ${names.join(', ')} (apt-get install)`, async () => {
    raiseShields();
    try {
      const args = ['install', '-y', '-q', '--no-install-recommends', ...names];
      const { code, out } = await apt(say, args, signal);
      signal?.throwIfAborted();
      if (code !== 0) {
        throw new Error(
          `apt-get install ${names.join(' ')} failed:\n${lastLines(out)}\nRepair that, then run this again.`,
        );
      }
    } finally {
      lowerShields();
    }
  });
}
