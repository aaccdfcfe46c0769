import type { Mutant } from './mutants.ts';

/** API keys: their life, scopes, queues and rates. */
export const keys: Mutant[] = [
  {
    name: 'a revoked key is accepted',
    in: 'tock.allows_simple',
    find: 'case when k.revoked_at is null and p_scope',
    replace: 'case when p_scope',
    caught: ['sql/access/keys.test.ts', 'a revoked key is refused from then on'],
  },
  {
    name: 'an expired key is accepted where it has all scopes',
    in: 'tock.allows_simple',
    find: 'and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp()) then',
    replace: 'then',
    caught: [
      'sql/access/key-life.test.ts',
      'an expired key is refused, on the fast path too, with the time of its expiry',
    ],
  },
  {
    name: 'an expired key is accepted where it is looked at closely',
    in: 'tock.live_key',
    find: 'elsif v_key.expires_at <= pg_catalog.clock_timestamp() then',
    replace: 'elsif false then',
    caught: [
      'sql/access/key-life.test.ts',
      'an expired key is refused, on the fast path too, with the time of its expiry',
    ],
  },
  {
    name: 'a revoked key is accepted where it is looked at closely',
    in: 'tock.live_key',
    find: 'elsif v_key.revoked_at is not null then',
    replace: 'elsif false then',
    caught: [
      'http/key-life.test.ts',
      'a key that is revoked between two requests on one connection is refused in the second',
    ],
  },
  {
    name: 'a key with a rate is not counted',
    in: 'tock.allows_simple',
    find: 'and k.tenants is null and k.rate_limit is null',
    replace: 'and k.tenants is null',
    caught: [
      'sql/access/key-rates.test.ts',
      'a key over its rate gets its limit and the time to retry',
    ],
  },
  {
    name: 'a key is replaced twice',
    in: 'tock.rotate_key',
    find: 'elsif v_other is not null then',
    replace: 'elsif false then',
    caught: ['sql/access/key-life.test.ts', 'a key is replaced once'],
  },
  {
    name: 'an overlap gives a key longer than it had',
    in: 'tock.rotate_key',
    find: 'set expires_at = least(k.expires_at, v_now + p_overlap_seconds',
    replace: 'set expires_at = coalesce(null, v_now + p_overlap_seconds',
    caught: ['sql/access/key-life.test.ts', 'without an overlap the old key ends at once'],
  },
  {
    name: 'a request is counted after its limit was checked',
    in: 'tock.count_request',
    find: 'if pg_catalog.nextval(v_counter) & 1048575 <= p_limit then',
    replace: 'if pg_catalog.nextval(v_counter) > 0 then',
    caught: [
      'sql/access/key-rates.test.ts',
      'fifty concurrent connections stay within the rate, also at the turn of a window',
    ],
  },
  {
    name: 'an enqueue is not authorized',
    in: 'tock.http_enqueue',
    find: "if not coalesce(tock.allows_simple(p_key, 'enqueue', p_queue), false) then",
    replace: 'if false then',
    caught: ['http/one-statement.test.ts', 'the key is checked before the verb does anything'],
  },
  {
    name: 'a key for some queues completes leases of others',
    in: 'tock.authorize_end',
    find: "tock.authorize(p_key, 'claim', tock.queue_of_lease(p_lease), false, p_again)",
    replace: "tock.authorize(p_key, 'claim', null, false, p_again)",
    caught: [
      'http/response-bytes.test.ts',
      'a key for some queues completes only tasks that were claimed from these queues',
    ],
  },
  {
    name: 'a key for some queues ends leases of others by a claim',
    in: 'tock.http_claim',
    find: 'if p_ends is not null then',
    replace: 'if false then',
    caught: ['http/claim-ends.test.ts', 'a key for another queue ends nothing and claims nothing'],
  },
  {
    name: 'the scope to claim is enough to spawn',
    in: 'tock.authorize_end',
    find: "perform tock.authorize(p_key, 'enqueue', coalesce(s.spawn",
    replace: "perform tock.authorize(p_key, 'claim', coalesce(s.spawn",
    caught: [
      'http/dependencies.test.ts',
      "a spawn is checked like an enqueue: its tasks, and the key's rights",
    ],
  },
  {
    name: 'a key for some queues spawns into any',
    in: 'tock.authorize_end',
    find: ", tock.authorize_tasks(p_key, s.spawn -> 'tasks', …) from (",
    replace: 'from (',
    caught: ['sql/features/dependencies/spawn-roles.test.ts', 'a key for some queues'],
  },
  {
    name: 'a key for some queues reads the results of others',
    in: 'tock.check_parents_key',
    find: 'where (j.queue = any (v_queues)) is not true limit 1;',
    replace: 'where false;',
    caught: ['http/dependencies.test.ts', 'a key for some queues'],
  },
  {
    name: 'a pipeline leads where its key may not enqueue',
    in: 'tock.authorize_tasks',
    find: "perform tock.authorize(p_key, 'enqueue', s.stage #>> '{}', true)",
    replace: 'perform s.stage',
    caught: [
      'http/pipelines.test.ts',
      'a key needs the queues of all stages to enqueue a pipeline',
    ],
  },
  {
    name: 'a key stays the actor of the calls that follow on its connection',
    in: 'tock.authorize',
    find: 'pg_catalog.left(p_key, 13), true)',
    replace: 'pg_catalog.left(p_key, 13), false)',
    caught: [
      'sql/access/audit-log.test.ts',
      'an audit log entry names the key of its call, and another role cannot forge that',
    ],
  },
  {
    name: 'any role may set which key it acts as',
    in: 'tock.write_audit_log',
    find: "case when pg_catalog.pg_has_role(session_user, 'tock_edge', 'member') then nullif(pg_catalog.left(pg_catalog.current_setting('tock.key', true), 13), '') end",
    replace: "nullif(pg_catalog.left(pg_catalog.current_setting('tock.key', true), 13), '')",
    caught: [
      'sql/access/audit-log.test.ts',
      'an audit log entry names the key of its call, and another role cannot forge that',
    ],
  },
  {
    name: 'the secret of a key is in the audit log',
    in: 'tock.create_key',
    find: "perform tock.write_audit_log('create_key', pg_catalog.left(v_key, 13),",
    replace: "perform tock.write_audit_log('create_key', v_key,",
    caught: [
      'sql/access/audit-log.test.ts',
      'the audit log records keys that are created, changed, rotated and revoked, without their secrets',
    ],
  },
];
