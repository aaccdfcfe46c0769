import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { home } from '../stack/paths.ts';
import { command } from './command.ts';

/** The report that test/report.ts writes for a run. */
export type Report = {
  /** The server's version; null if it did not start. */
  stack: { major: number; name: string } | null;
  passed: number;
  failed: number;
  /** The failed tests with their reasons, for the end of long output, whose beginning is often cut off. */
  failures: Named[];
  skipped: Named[];
};
export type Named = { name: string; why: string };

/** One run of vitest on one PostgreSQL, and which tests it included. */
export type Outcome = Report & { what: string; seconds: number };

/** Runs tests in the given environment; all unless `args` name some. */
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
  // An error outside tests, or before a report exists, is a failure too.
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
