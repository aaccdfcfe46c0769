import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { home } from '../stack/place.ts';
import { command } from './command.ts';

/** What test/report.ts writes of a run. */
export type Report = {
  /** What it ran on; null when that did not start. */
  stack: { major: number; name: string } | null;
  passed: number;
  failed: number;
  /** Those that failed, and why: for the end of a long print, whose beginning is often cut off. */
  failures: Named[];
  skipped: Named[];
};
export type Named = { name: string; why: string };

/** One run of vitest on one PostgreSQL, and what of the tests it was. */
export type Outcome = Report & { what: string; seconds: number };

/** Runs tests as the environment says; all unless `args` name some. */
export async function suite(
  what: string,
  args: string[],
  settings: NodeJS.ProcessEnv = {},
): Promise<Outcome> {
  const file = join(home(), `report-${process.pid}.json`);
  rmSync(file, { force: true });
  const { succeeded, seconds } = await command(['vitest', 'run', ...args], {
    ...settings,
    TOCK_TEST_REPORT: file,
  });
  const report = read(file);
  rmSync(file, { force: true });
  // What broke without a test's failing, or before there was a report, is a failure too.
  const failed = report.failed || (succeeded ? 0 : 1);
  return { ...report, failed, what, seconds };
}

function read(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { stack: null, passed: 0, failed: 1, failures: [], skipped: [] };
  }
}
