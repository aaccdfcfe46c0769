export type Finding = {
  finding: string;
  severity: string;
  detail: string;
  hint: string;
};

const SECONDS = 5;

/**
 * What is wrong with a clock that showed `before` and `after` around a call in which the database's
 * showed `there`, all in milliseconds: more than 5 s beyond the time that the call took.
 */
export function clockFindings(
  whose: string,
  { before, there, after }: { before: number; there: number; after: number },
): Finding[] {
  const ahead = Math.max(before - there, 0) || Math.min(after - there, 0);
  if (Math.abs(ahead) <= SECONDS * 1000) return [];
  const seconds = Math.round(Math.abs(ahead) / 1000);
  return [
    {
      finding: 'the clocks differ',
      severity: 'warning',
      detail: `the clock of ${whose} is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} the database's`,
      hint: "set both by NTP: leases and delays go by the database's clock, signatures and what callers send as run_at by others",
    },
  ];
}
