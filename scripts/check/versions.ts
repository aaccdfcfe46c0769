import { debianWith } from '../stack/debian.ts';
import { newest, oldest } from '../stack/packages.ts';
import { findPostgresSource } from '../stack/postgres_sources.ts';
import { silently } from '../stack/step_reporter.ts';
import { type Outcome, suite } from './suite.ts';

/**
 * The tests that run on every version, because they depend on PostgreSQL. The HTTP API, the command line and
 * `npm start` use PostgreSQL only through a driver, so their tests run on one version. npm's build of PostgreSQL has
 * neither pg_cron nor programs such as pg_basebackup, which the last two folders of `withCron` need.
 */
const folders = ['test/sql/', 'test/upgrade/', 'test/stack/host'];
const withCron = [...folders, 'test/cron/', 'test/faults/'];

export type Version = { major: number } & (Outcome | { cannot: string });

/**
 * The tests for the newest version when all versions are tested: each verb and maintenance job, plans, rights and the
 * upgrade. Races and load tests are left out, because they give the same result on each version.
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
/**
 * The subset of these tests for versions between the oldest and the newest: tests that depend on the planner, the
 * catalogs or the locks.
 */
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

/** Every file that is named here, so that a test can check that it exists. */
export const named = [...files(sql), ...files(core), ...cron, upgrade];

/** Runs the tests that depend on PostgreSQL on one version, if it is available here. */
export async function onVersion(major: number, quick = false): Promise<Version> {
  const origin = await findPostgresSource(major);
  if ('cannot' in origin) return { major, ...origin };
  const hasCron = origin.source !== 'npm';
  const all = hasCron ? withCron : folders;
  const short = major === newest ? [...files(sql), upgrade] : files(core);
  const paths = quick ? [...short, ...(hasCron ? cron : [])] : all;
  const what = quick ? `${paths.length} of the files in ${all.join(' ')}` : all.join(' ');
  process.stdout.write(`- tests on PostgreSQL ${major}: ${what}\n`);
  return { major, ...(await suite(what, paths, { TOCK_TEST_POSTGRES: String(major) })) };
}

/** Builds a Debian folder while other tests run. If the build fails, the tests that need the folder report why. */
async function prepare(major: number): Promise<void> {
  const origin = await findPostgresSource(major);
  if ('source' in origin && origin.source === 'debian')
    await debianWith(major, silently).catch(() => {});
}

/** Tests all supported versions except one. The newest comes first, because newer versions are used more. */
export async function onOthers(except: number): Promise<Version[]> {
  const majors = [];
  for (let major = newest; major >= oldest; major--) if (major !== except) majors.push(major);
  for (const major of majors) void prepare(major);
  const all: Version[] = [];
  for (const major of majors) all.push(await onVersion(major, true));
  return all;
}
