import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptInstall, aptUpdate } from './apt.ts';
import type { Say } from './say.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'chrome'];

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A Chromium of this machine's, or the one that CHROMIUM_PATH names; null when there is none. */
export function findBrowser(): string | null {
  const named = process.env.CHROMIUM_PATH;
  if (named) return named;
  const folders = (process.env.PATH ?? '').split(delimiter).concat('/usr/bin');
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find(runs) ?? null;
}

/** Debian's Chromium where there is no browser, and root may install one; else the tests that need one say so. */
export async function installBrowser(say: Say): Promise<void> {
  if (findBrowser() || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  await aptUpdate(say);
  await aptInstall(say, ['chromium']);
}

export function browserPath(): string {
  const found = findBrowser();
  if (found) return found;
  throw new Error(
    'There is no Chromium. Install one (apt-get install chromium), or set CHROMIUM_PATH.',
  );
}
