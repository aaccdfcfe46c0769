import { debianWith } from '../stack/debian.ts';
import { newest, oldest } from '../stack/packages.ts';
import { silently } from '../stack/say.ts';
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
 * What runs on the newest, where several versions are tested one after another: each verb and maintenance job, the plans, the
 * rights and the upgrade, without the races and loads of our own SQL, which are the same on each.
 */
const sql = `access/audit-log features/dependencies/dependencies invariants kernel/retention/verify kernel/change/cancel
  kernel/change/change kernel/claim/claim features/multi_claim/claim-any kernel/claim/transactions
  kernel/finish/complete conventions features/reruns/redrive operations/doctor/doctor
  operations/doctor/queues kernel/retention/drop operations/maintenance kernel/enqueue/enqueue
  features/reruns/erase kernel/finish/fail features/concurrency/concurrency-keys constraints access/key-life
  access/key-rates kernel/retention/prepare-drop features/queue_limits/limits kernel/locks
  features/bulk_changes/bulk-changes-plans features/bulk_changes/move kernel/finish/overlap
  features/pipelines/pipelines plans features/pools/pools kernel/finish/progress kernel/delay/promote
  features/bulk_changes/purge kernel/finish/reap kernel/finish/release-extend features/reruns/rerun
  kernel/log/idle-streams kernel/finish/results kernel/retention/expiry kernel/finish/retry roles schema
  features/schedules/schedules kernel/segment/close features/dependencies/spawn read/task read/tasks
  kernel/claim/time-limits features/unique_keys/unique-keys arguments features/bulk_changes/filtered`;
/** Of that, on a version between the oldest and the newest: what asks the planner, the catalogs or the locks. */
const core = `kernel/claim/claim kernel/claim/transactions kernel/finish/complete conventions operations/doctor/doctor
  operations/maintenance kernel/enqueue/enqueue kernel/finish/fail features/concurrency/concurrency-keys
  kernel/locks features/bulk_changes/bulk-changes-plans plans kernel/delay/promote kernel/finish/reap roles
  schema kernel/segment/close read/task features/unique_keys/unique-keys`;
const files = (names: string) => [
  ...names.split(/\s+/).map((name) => `test/sql/${name}.test.ts`),
  'test/stack/host.test.ts',
];
const upgrade = 'test/upgrade/migrated.test.ts';
const cron = [
  'test/cron/',
  'test/faults/crash.test.ts',
  'test/sql/operations/doctor/cluster.test.ts',
];

/** Every file and folder that is named here. */
export const named = [...files(sql), ...files(core), ...cron, upgrade];

/** Runs what depends on PostgreSQL on one version, where it can be had here. */
export async function onVersion(major: number, quick = false): Promise<Version> {
  const found = await wayTo(major);
  if ('cannot' in found) return { major, ...found };
  const hasCron = found.way !== 'npm';
  const all = hasCron ? withCron : folders;
  const short = major === newest ? [...files(sql), upgrade] : files(core);
  const paths = quick ? [...short, ...(hasCron ? cron : [])] : all;
  const what = quick ? `${paths.length} of the files in ${all.join(' ')}` : all.join(' ');
  process.stdout.write(`- tests on PostgreSQL ${major}: ${what}\n`);
  return { major, ...(await suite(what, paths, { TOCK_TEST_POSTGRES: String(major) })) };
}

/** Makes a Debian's folder while others are tested. When it can't, the tests that need it say why. */
async function prepare(major: number): Promise<void> {
  const found = await wayTo(major);
  if ('way' in found && found.way === 'debian') await debianWith(major, silently).catch(() => {});
}

/** On each supported version but one. The newer come first: they are more often used. */
export async function onOthers(but: number): Promise<Version[]> {
  const majors = [];
  for (let major = newest; major >= oldest; major--) if (major !== but) majors.push(major);
  for (const major of majors) void prepare(major);
  const all: Version[] = [];
  for (const major of majors) all.push(await onVersion(major, true));
  return all;
}
