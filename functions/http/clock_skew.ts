import type { Finding } from './findings.ts';

const TOLERANCE_SECONDS = 5;

/**
 * Compares a clock that showed `before` and `after` around a call with the database's time `there` during it, all in
 * milliseconds. It reports a difference of more than 5 s beyond the duration of the call.
 */
export function clockFindings(
  whose: string,
  { before, there, after }: { before: number; there: number; after: number },
): Finding[] {
  const ahead = Math.max(before - there, 0) || Math.min(after - there, 0);
  if (Math.abs(ahead) <= TOLERANCE_SECONDS * 1000) return [];
  const seconds = Math.round(Math.abs(ahead) / 1000);
  return [
    {
      finding: 'the clocks differ',
      severity: 'warning',
      detail: `the clock of ${whose} is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} the database's`,
      hint: "synchronize both by NTP: leases and delays use the database's clock; signatures and callers' run_at use other clocks",
    },
  ];
}
