import { globSync } from 'node:fs';
import { newest, oldest } from '../stack/packages.ts';
import { checkout } from '../stack/place.ts';
import { wayTo } from '../stack/ways.ts';
import { type Outcome, suite } from './suite.ts';

/**
 * What runs on every version: all that depends on PostgreSQL, and that each version is where it came
 * from. The edge, the command line and `npm start` meet PostgreSQL through a driver only. npm's has
 * neither pg_cron nor programs such as pg_basebackup, which the other two folders need.
 */
const folders = ['test/sql/', 'test/upgrade/', 'test/stack/host'];
const withCron = [...folders, 'test/cron/', 'test/faults/'];

export type Version = { major: number } & (Outcome | { cannot: string });

/**
 * Left out where several versions are tested one after another: they try races in our own SQL over
 * and over, or each earlier state of the schema, and would take almost half of the time.
 */
export const long = [
  'test/faults/soak.test.ts',
  'test/sql/*-load.test.ts',
  'test/sql/marks-judge.test.ts',
  'test/sql/marks-many.test.ts',
  'test/sql/marks-races.test.ts',
  'test/sql/move-up.test.ts',
  'test/sql/overtaken.test.ts',
  'test/sql/tenants.test.ts',
  'test/sql/upgrade.test.ts',
  'test/upgrade/beside.test.ts',
];

/** Runs what depends on PostgreSQL on one version, where it can be had here. */
export async function onVersion(major: number, without: string[] = []): Promise<Version> {
  const found = await wayTo(major);
  if ('cannot' in found) return { major, ...found };
  const paths = found.way === 'npm' ? folders : withCron;
  const left = without.filter((glob) => paths.some((path) => glob.startsWith(path)));
  const files = globSync(left, { cwd: checkout });
  const but = files.length > 0 ? ` but for ${files.length} long files` : '';
  const what = `${paths.join(' ')}${but}`;
  process.stdout.write(`- tests on PostgreSQL ${major}: ${what}\n`);
  const args = [...paths, ...files.flatMap((file) => ['--exclude', file])];
  return { major, ...(await suite(what, args, major)) };
}

/** On each supported version but one. The newer come first: they are more often used. */
export async function onOthers(but: number): Promise<Version[]> {
  const all: Version[] = [];
  for (let major = newest; major >= oldest; major--) {
    if (major !== but) all.push(await onVersion(major, long));
  }
  return all;
}
