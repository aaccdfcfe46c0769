import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptInstall, aptUpdate } from './apt.ts';
import type { StepReporter } from './step_reporter.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'chrome'];

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The path of a Chromium: CHROMIUM_PATH, or one on this machine. Null if there is none. */
export function findBrowser(): string | null {
  const configured = process.env.CHROMIUM_PATH;
  if (configured) return configured;
  const folders = (process.env.PATH ?? '').split(delimiter).concat('/usr/bin');
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find(runs) ?? null;
}

/**
 * Installs Debian's Chromium if there is no browser and this process is root. Otherwise the tests that need a browser
 * report that it is missing.
 */
export async function installBrowser(reporter: StepReporter): Promise<void> {
  if (findBrowser() || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  await aptUpdate(reporter);
  await aptInstall(reporter, ['chromium']);
}

export function browserPath(): string {
  const path = findBrowser();
  if (path) return path;
  throw new Error(
    'No Chromium was found. Install one (apt-get install chromium), or set CHROMIUM_PATH.',
  );
}
