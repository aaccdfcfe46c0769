import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../scripts/docs/openapi.ts';
import { grantedVerbs } from '../sql/roles.ts';

const drivers = join(import.meta.dirname, '../../scripts/chaos/drivers');
const verbs = ['verbs.ts', 'step_verbs.ts', 'reads.ts']
  .map((file) => readFileSync(join(drivers, file), 'utf8'))
  .join('\n');

/** The paths in the HTTP driver's source, without query strings. */
const calledPaths = (verbs.match(/['`]\/v1\/[^'`]*['`]/g) ?? []).map((text) =>
  text
    .slice(1, -1)
    .replace(/\?.*/, '')
    .replace(/\$\{[^}]*\}/g, '{}'),
);

const parts = (path: string) => path.split('/');
const fits = (route: string, path: string) =>
  parts(route).length === parts(path).length &&
  parts(route).every(
    (part, at) => /^\{/.test(part) || ['{}', part].includes(parts(path)[at] ?? ''),
  );

/** Routes that the load leaves out. Pools have no tasks; the others only read, or change what the judge relies on. */
const apart = [
  '/metrics',
  '/v1/archive',
  '/v1/archive/end',
  '/v1/archive/step',
  '/v1/archive/tasks',
  '/v1/bulk-changes/{id}',
  '/v1/bulk-changes/{id}/stop',
  '/v1/event-links',
  '/v1/events/{token}',
  '/v1/health',
  '/v1/links',
  '/v1/next-fires',
  ...['', '/assign', '/assign-all', '/take', '/tasks', '/unassign', '/workers/{worker}'].map(
    (rest) => `/v1/pools/{pool}${rest}`,
  ),
  '/v1/queues/{queue}/bulk-changes',
  '/v1/queues/{queue}/claim-for-worker',
  '/v1/queues/{queue}/ended',
  '/v1/queues/{queue}/limits/reset',
  '/v1/queues/{queue}/push-secret',
  '/v1/queues/{queue}/push-secret/rotate',
  '/v1/schedules/{schedule}/pause',
  '/v1/schedules/{schedule}/resume',
  '/v1/tasks/{id}/children',
  '/v1/tasks/{id}/parents',
  '/v1/tasks/{id}/payload',
];

test('the load calls every route except those listed here', async () => {
  const left = Object.keys((await openApiDocument()).paths).filter(
    (route) => !calledPaths.some((calledPath) => fits(route, calledPath)),
  );
  expect(left.sort()).toEqual(apart);
});

/**
 * Verbs that the load leaves out: those of pools, nodes, the archive and settings, and those that other verbs and the
 * HTTP API call.
 */
const apartInSql = `
  add_tasks archive archive_abandoned archive_deleted archive_emptied archive_erased archive_erasing
  archive_part archive_rewriting archive_rewritten archive_search archive_unwanted archived assign_task
  assign_tasks children claim_body claim_for_worker collect_metrics copy_key create_event_link
  create_segments deactivate_streams drop_expired_segments drop_queue drop_schedule enable_archive_by_default end_segment enqueue_task erase
  fire_schedules found_range guard has_push http_claim_any isolate_tenants join_pool lease_headers
  leave_pool own_request_id own_tenant parent_counts parents pause_schedule pool promote prune push_queues
  push_secret put_archive queue queue_of_lease queue_of_schedule queue_of_task queues_of_key readable
  readable_links reap reap_pools record_archive_step reset_concurrency_key reset_limits resume_schedule
  rotate_push_secret run_maintenance schedule start_bulk_change stop_bulk_change take_task
  tenants_of_key tick_by unassign_task update_key verify_segments visible_task`;

test('the load calls every verb of SQL except those listed here', () => {
  const called = new Set(verbs.match(/(?<=tock\.|forMany\(')\w+(?=\()/g));
  const left = [...new Set(grantedVerbs.tock_admin)].filter((verb) => !called.has(verb));
  expect(left.sort()).toEqual(apartInSql.trim().split(/\s+/));
});
