import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { withClient } from '../../scripts/stack/roles.ts';
import type { Database } from '../database.ts';
import { conditionTimeout } from '../timeout.ts';
import { databasePerFile, db } from './test_database.ts';
import { rows } from './verbs.ts';

const names = (text: string) => text.trim().split(/\s+/);

const giving = names(`
  enqueue enqueue_payloads enqueue_task cancel change reprioritize reschedule queue_of_task cancel_where reprioritize_where move rerun redrive
  start_bulk_change stop_bulk_change bulk_changes tasks dead_groups schedule schedules schedule_history next_fires assign_task assign_tasks add_tasks signal create_event_link`);
const doing = names(`
  claim next claim_any claim_state complete fail release extend queue_of_lease next_wake_at tick_by
  claim_for_worker join_pool leave_pool take_task lease_headers save_steps lease_steps`);
const governing = names(
  `put_queue queue concurrency_keys put_concurrency_key reset_concurrency_key limits reset_limits queue_stats series overview metrics running workers why maintenance_jobs_list cron_jobs_list segments_list purge_queue drop_queue doctor erase
   create_key keys_list revoke_key rotate_key update_key audit_log tick pools put_schedule pause_schedule resume_schedule drop_schedule run_schedule
   queue_of_schedule push_queues has_push push_secret rotate_push_secret`,
);
/** With an API key these functions hide what the key may not see; without one they hide nothing. */
const ofNoKey = names(
  'visible_task readable readable_links own_tenant own_request_id tenants_of_key queues_of_key',
);
const answered = names('claim_body http_claim_any');
const archive = names(
  `put_archive end_segment enable_archive_by_default archive archive_part archived record_archive_step archive_unwanted archive_deleted archive_abandoned
   archive_erasing archive_erased archive_rewriting archive_rewritten archive_search
   archive_emptied`,
);
const maintenance_jobs = names(
  'run_maintenance promote fire_schedules reap reap_pools deactivate_streams create_segments verify_segments drop_expired_segments guard isolate_tenants prune collect_metrics',
);
const nodes = names('found_range copy_key');

const edge = names(
  'authorize known_key whoami rights_of_task queue_for_authorization http_enqueue http_enqueue_and_claim with_trace http_claim http_complete http_task http_task_steps http_erase_archived authorize_steps signal_by_link',
);

/** Verbs of producers and of workers. */
const asking = [
  'task',
  'parents',
  'parent_counts',
  'children',
  'task_steps',
  'pool',
  'unassign_task',
  ...ofNoKey,
];

/** For each role, every function that it may call. `outsider` has none of the roles, so it has PUBLIC's rights. */
export const grantedVerbs: Record<string, string[]> = {
  tock_producer: [...giving, ...asking],
  tock_worker: [...doing, ...answered, ...asking],
  tock_admin: [
    ...giving,
    ...doing,
    ...answered,
    ...governing,
    ...archive,
    ...maintenance_jobs,
    ...nodes,
    ...asking,
  ],
  tock_edge: [
    ...giving,
    ...doing,
    ...answered,
    ...governing,
    ...archive,
    ...edge,
    ...asking,
    'copy_key',
  ],
  outsider: [],
};

/** Verbs that are not security definer: they read a setting, or rearrange another verb's arguments or answer. */
export const plainVerbs = names('enqueue_task reprioritize reschedule claim_body http_claim_any');

export type Member = { role: string; name: string; client: pg.Client };

/** For each role a login role that is a member of it alone, with a connection. */
export async function makeMembers(db: Database): Promise<Member[]> {
  const tag = randomBytes(4).toString('hex');
  const members: Member[] = [];
  for (const role of Object.keys(grantedVerbs)) {
    const name = `test_${tag}_${role}`;
    await withClient(db.superUrl, async (client) => {
      await client.query(`create role ${name} login password '${tag}'`);
      // An operator may grant this so that the role can list the schema.
      if (role === 'outsider') await client.query(`grant usage on schema tock to ${name}`);
      else await client.query(`grant ${role} to ${name}`);
    });
    const url = new URL(db.url);
    url.username = name;
    url.password = tag;
    members.push({ role, name, client: await db.connect(url.href) });
  }
  return members;
}

/** Call it after the database is dropped: until then rights in it keep the roles from being dropped. */
export async function dropMembers(superUrl: string, members: Member[]): Promise<void> {
  const url = new URL(superUrl);
  url.pathname = '/postgres';
  await withClient(url.href, async (client) => {
    for (const { name } of members) await client.query(`drop role ${name}`);
  });
}

/** The members of the roles in the database of the file. */
export let members: Member[] = [];

export function membersPerFile(): void {
  let superUrl = '';
  // Hooks after tests run in reverse order: the database is dropped first.
  afterAll(() => dropMembers(superUrl, members));
  databasePerFile();
  beforeAll(async () => {
    members = await makeMembers(db);
    superUrl = db.superUrl;
  });
}

export const memberOf = (role: string) => members.find((member) => member.role === role) as Member;

/** Runs statements and rolls all back. Returns the SQLSTATE of each, null if it succeeded. */
export async function outcomes(client: pg.Client, statements: string[]) {
  const codes: (string | null)[] = [];
  await client.query(`begin; set local statement_timeout = ${conditionTimeout}`);
  for (const statement of statements) {
    await client.query('savepoint before');
    const code = await client.query(statement).then(
      () => null,
      (error: pg.DatabaseError) => error.code ?? error.message,
    );
    codes.push(code);
    await client.query('rollback to before');
  }
  await client.query('rollback');
  return codes;
}

export type Routine = { name: string; call: string };

/**
 * Every routine of the schema, with a call whose arguments are nulls. The planner can't evaluate the call in
 * advance.
 */
export async function routines(client: pg.Client): Promise<Routine[]> {
  // The role tock has the schema tock on its default search path, and types would be printed without it.
  await client.query('set search_path = pg_catalog');
  return rows<Routine>(
    client,
    `select p.proname as name, case p.prokind when 'p' then 'call ' else 'select ' end
       || format('tock.%I(%s)', p.proname, string_agg('n.a' || a.n, ', ' order by a.n))
       || case when p.prokind = 'p' then '' else format(' from (select %s offset 0) n',
         coalesce(string_agg('null::' || format_type(a.type, null) || ' as a' || a.n, ', ' order by a.n), '1')) end as call
     from pg_proc p left join lateral unnest(p.proargtypes::oid[]) with ordinality a(type, n) on true
     where p.pronamespace = (select oid from pg_namespace where nspname = 'tock')
     group by p.oid order by p.proname`,
  );
}
