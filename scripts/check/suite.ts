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
  /** The failed tests with their reasons. They are repeated at the end, because long output is often cut off. */
  failures: Named[];
  skipped: Named[];
};
export type Named = { name: string; why: string };

/** The result of one run of vitest on one PostgreSQL. `what` names the tests that it included. */
export type Outcome = Report & { what: string; seconds: number };

/** Runs the tests that `args` name, or all, with these environment variables. */
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
  // vitest can also fail without a failed test, for example before it has a report.
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
