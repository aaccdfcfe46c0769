import { expect } from 'vitest';
import { client } from '../test_database.ts';
import { rows } from '../verbs.ts';

export type Finding = { finding: string; severity: string; detail: string; hint: string };
type Patterns = (RegExp | string)[];

/** Expects these findings in this order, each written as `severity: finding: detail => hint`. */
export function expectFindings(findings: Finding[], ...patterns: Patterns): void {
  const lines = findings.map(
    ({ finding, severity, detail, hint }) => `${severity}: ${finding}: ${detail} => ${hint}`,
  );
  expect(lines).toEqual(patterns.map((pattern) => expect.stringMatching(pattern)));
}

/** The findings without late maintenance jobs: without ticks these are late two minutes after the template was made. */
export const doctor = () =>
  rows<Finding>(client, "select * from tock.doctor() where finding <> 'maintenance jobs are late'");
export const named = async () => (await doctor()).map(({ finding }) => finding);
export const expectDoctor = async (...patterns: Patterns) =>
  expectFindings(await doctor(), ...patterns);
