import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { attempt, lastLines } from './run.ts';
import type { StepReporter } from './step_reporter.ts';

const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' };
const timeouts = ['-o', 'DPkg::Lock::Timeout=600', '-o', 'Acquire::http::Timeout=30'];
const header = '# written by Tock during an installation; safe to delete\n';

// These files keep the packages from starting their services, which would take ports 5432 and 6432.
const shields = [
  { path: '/usr/sbin/policy-rc.d', text: `#!/bin/sh\n${header}exit 101\n`, mode: 0o755 },
  {
    path: '/etc/postgresql-common/createcluster.d/tock.conf',
    text: `${header}create_main_cluster = false\n`,
    mode: 0o644,
  },
];

function lowerShields(): void {
  for (const { path } of shields) {
    if (existsSync(path) && readFileSync(path, 'utf8').includes(header)) rmSync(path);
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

/** The newest supported PostgreSQL for which apt has packages of the server and of pg_cron. */
export async function newestPackaged(from = 15, to = 18): Promise<number | null> {
  for (let major = to; major >= from; major--) {
    const names = [`postgresql-${major}`, `postgresql-${major}-cron`];
    const { output } = await attempt(['apt-cache', 'policy', ...names], { env });
    const candidates = output.match(/Candidate: (?!\(none\))/g) ?? [];
    if (candidates.length === names.length) return major;
  }
  return null;
}

async function apt(reporter: StepReporter, args: string[], signal?: AbortSignal) {
  let waiting = false;
  return attempt(['apt-get', ...timeouts, ...args], {
    env,
    ...(signal && { signal }),
    onLine(line) {
      if (!/Waiting for cache lock|Could not get lock/.test(line) || waiting) return;
      waiting = true;
      reporter.note('another program is installing packages: waiting for it');
    },
  });
}

export async function aptUpdate(reporter: StepReporter, signal?: AbortSignal): Promise<void> {
  await reporter.step('Updating the list of packages (apt-get update)', async () => {
    const { code, output } = await apt(reporter, ['update', '-q'], signal);
    signal?.throwIfAborted();
    if (code !== 0)
      reporter.note(`it failed; continuing with the existing list:\n${lastLines(output, 4)}`);
  });
}

export async function aptInstall(
  reporter: StepReporter,
  names: string[],
  signal?: AbortSignal,
): Promise<void> {
  await reporter.step(`Installing ${names.join(', ')} (apt-get install)`, async () => {
    raiseShields();
    try {
      const args = ['install', '-y', '-q', '--no-install-recommends', ...names];
      const { code, output } = await apt(reporter, args, signal);
      signal?.throwIfAborted();
      if (code !== 0) {
        throw new Error(
          `apt-get install ${names.join(' ')} failed:\n${lastLines(output)}\nCorrect the error, then repeat the command.`,
        );
      }
    } finally {
      lowerShields();
    }
  });
}
