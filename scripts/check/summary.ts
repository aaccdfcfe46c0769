import type { Outcome } from './suite.ts';
import type { Version } from './versions.ts';

// A longer list is left out: with `-t`, for example, vitest skips all tests except one.
const MAX_LISTED = 20;

function counts({ passed, failed, skipped }: Outcome): string {
  const skippedText = skipped.length > 0 ? `, ${skipped.length} skipped` : '';
  return `${passed} passed, ${failed} failed${skippedText}`;
}

function listed(what: string, tests: Outcome['skipped']): string[] {
  const lines = tests.slice(0, MAX_LISTED).map(({ name, why }) => `  ${what}: ${name}: ${why}`);
  const more = tests.length - MAX_LISTED;
  return more > 0 ? [...lines, `  ${what}: and ${more} more`] : lines;
}

/** One line for each PostgreSQL, then one for each failed or skipped test with its reason. */
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
