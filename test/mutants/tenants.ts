import type { Mutant } from './mutants.ts';

/** Keys for some tenants, and fairness among tenants. */
export const tenants: Mutant[] = [
  {
    name: 'a key for some tenants does what concerns all',
    in: 'tock.authorize',
    find: 'elsif v_key.tenants is not null and not p_own then',
    replace: 'elsif false then',
    caught: [
      'http/tenant-keys.test.ts',
      'a key for some tenants is refused by every route that concerns all tenants',
    ],
  },
  {
    name: 'a key for some tenants claims',
    in: 'tock.check_key',
    find: "not p_key.scopes <@ array['enqueue', 'read'] then",
    replace: 'false then',
    caught: ['sql/access/key-life.test.ts', 'a key for some tenants cannot have the scope claim'],
  },
  {
    name: "another tenant's task is read",
    in: 'tock.visible_task',
    find: '(v_key.tenants is null or tock.tenant_of_task(p_id) = any (v_key.tenants))',
    replace: 'true',
    caught: [
      'http/tenant-keys.test.ts',
      "for every call another tenant's task looks like an unknown task",
    ],
  },
  {
    name: 'a key enqueues for any tenant',
    in: 'tock.check_own_tasks',
    find: "and coalesce(t.task ->> 'tenant' <> all (p_tenants), pg_catalog.cardinality(p_tenants) > 1)",
    replace: 'and false',
    caught: ['http/tenant-keys.test.ts', 'a key for one tenant may enqueue only for that tenant'],
  },
  {
    name: 'tenants share unique keys',
    in: 'tock.tenant_scoped_name',
    find: "'tenant:' || pg_catalog.replace(pg_catalog.replace(p_tenant, '~', '~0'), '/', '~1') || '/' ||",
    replace: '',
    caught: [
      'http/tenant-keys.test.ts',
      'tenants do not share request ids, unique keys and concurrency keys',
    ],
  },
  {
    name: 'a request id of one tenant answers another',
    in: 'tock.own_request_id',
    find: 'pg_catalog.jsonb_build_array(v_tenants, p_request_id)',
    replace: 'pg_catalog.jsonb_build_array(p_request_id)',
    caught: [
      'http/tenant-keys.test.ts',
      'tenants do not share request ids, unique keys and concurrency keys',
    ],
  },
  {
    name: 'a filter may name any tenant',
    in: 'tock.own_tenant',
    find: 'if v_tenants is null or p_tenant = any (v_tenants) then',
    replace: 'if v_tenants is null or p_tenant is not null then',
    caught: [
      'http/tenant-keys.test.ts',
      "lists and changes by filter concern only the key's tenant",
    ],
  },
  {
    name: 'a list of ids reaches tasks of other tenants',
    in: 'functions',
    find: 'and (known.tenants is null or tock.tenant_of_task(p_id => u.id) = any (known.tenants))',
    replace: '',
    caught: [
      'http/tenant-keys.test.ts',
      "with many ids only the tenant's own tasks are changed and answered",
    ],
  },
  {
    name: "another tenant's result is read as a parent's",
    in: 'tock.readable',
    find: 'where (v_key.tenants is null or tock.tenant_of_task(i.id) = any (v_key.tenants))',
    replace: 'where true',
    caught: [
      'http/tenant-keys.test.ts',
      "a child of two tenants' parents lists only its own tenant's parents, and runs after its own",
    ],
  },
  {
    name: 'a heavy tenant keeps its lane',
    in: 'tock.lane_of',
    find: 'while v_lane < 448 and',
    replace: 'while false and',
    caught: [
      'sql/kernel/log/tenant-fairness.test.ts',
      'a tenant that builds a backlog by small calls',
    ],
  },
  {
    name: 'tasks that come in bulk are served like the others',
    in: 'tock.find_streams',
    find: 't.start_after, t.lane from tock.streams t where t.queue = p_queue and t.awake and t.number <> all (p_seen) order by t.priority, (t.lane & 512 <> 0) = (p_seed % 24 <> 0),',
    replace:
      't.start_after, t.lane from tock.streams t where t.queue = p_queue and t.awake and t.number <> all (p_seen) order by t.priority,',
    caught: ['sql/kernel/log/tenant-fairness.test.ts', 'tasks of a huge call are claimed last'],
  },
];
