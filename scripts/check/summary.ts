import type { Outcome } from './suite.ts';
import type { Version } from './versions.ts';

// By `-t` all but one are skipped: nobody wants to read that list.
const most = 20;

function counts({ passed, failed, skipped }: Outcome): string {
  const left = skipped.length > 0 ? `, ${skipped.length} skipped` : '';
  return `${passed} passed, ${failed} failed${left}`;
}

function listed(what: string, tests: Outcome['skipped']): string[] {
  const lines = tests.slice(0, most).map(({ name, why }) => `  ${what}: ${name}: ${why}`);
  const more = tests.length - most;
  return more > 0 ? [...lines, `  ${what}: and ${more} more`] : lines;
}

/** A line for each PostgreSQL, then one for each test that failed or was skipped, with the reason. */
export function summary(results: (Outcome | Version)[]): string {
  const lines: string[] = [];
  for (const result of results) {
    if ('cannot' in result) {
      lines.push(`PostgreSQL ${result.major}: NOT TESTED. ${result.cannot}`);
      continue;
    }
    const wanted = 'major' in result ? `PostgreSQL ${result.major}` : 'PostgreSQL';
    const name = result.stack?.name ?? `${wanted}, which did not start`;
    lines.push(`${name}: ${counts(result)} (${result.what}, ${result.seconds} s)`);
    lines.push(...listed('FAILED', result.failures), ...listed('SKIPPED', result.skipped));
  }
  return lines.map((line) => `${line}\n`).join('');
}
