import { newest, oldest } from '../stack/packages.ts';
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

/** Runs what depends on PostgreSQL on one version, where it can be had here. */
export async function onVersion(major: number): Promise<Version> {
  const found = await wayTo(major);
  if ('cannot' in found) return { major, ...found };
  const what = found.way === 'npm' ? folders : withCron;
  process.stdout.write(`- tests on PostgreSQL ${major}: vitest run ${what.join(' ')}\n`);
  return { major, ...(await suite(what.join(' '), what, major)) };
}

/** On each supported version but one. The newer come first: they are more often used. */
export async function onOthers(but: number): Promise<Version[]> {
  const all: Version[] = [];
  for (let major = newest; major >= oldest; major--) {
    if (major !== but) all.push(await onVersion(major));
  }
  return all;
}
