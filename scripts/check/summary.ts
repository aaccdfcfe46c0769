import type { Outcome } from './suite.ts';
import type { Version } from './versions.ts';

// By `-t` all but one are skipped: nobody wants to read that list.
const most = 20;

function counts({ passed, failed, skipped }: Outcome): string {
  const left = skipped.length > 0 ? `, ${skipped.length} skipped` : '';
  return `${passed} passed, ${failed} failed${left}`;
}

/** A line for each PostgreSQL, then one for each test that was skipped, with the reason. */
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
    for (const { name, why } of result.skipped.slice(0, most)) {
      lines.push(`  SKIPPED: ${name}: ${why}`);
    }
    const more = result.skipped.length - most;
    if (more > 0) lines.push(`  SKIPPED: and ${more} more`);
  }
  return lines.map((line) => `${line}\n`).join('');
}
