import type { Bug } from './bugs.ts';

const door: Pick<Bug, 'file'> = { file: 'routines/80_lets_in.sql' };
const made: Pick<Bug, 'file'> = { file: 'routines/80_keys.sql' };
const changed: Pick<Bug, 'file'> = { file: 'routines/80_change_keys.sql' };
const counted: Pick<Bug, 'file'> = { file: 'routines/79_key_counts.sql' };
const tenants: Pick<Bug, 'file'> = { file: 'routines/80_tenants.sql' };
const acts: Pick<Bug, 'file'> = { file: 'routines/11_acts.sql' };

const life = 'sql/key-life.test.ts';
const rates = 'sql/key-rates.test.ts';
const onRecord = 'sql/acts.test.ts';
const own = 'http/tenant-keys.test.ts';

/** When keys end, how much they may do, and whose tasks they see; and what is on record of who governs. */
export const keys: Bug[] = [
  {
    ...door,
    name: 'an expired key is let in on the short way',
    find: 'and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp())',
    replace: '',
    caught: [life, 'a key that has expired is refused'],
  },
  {
    ...door,
    name: 'an expired key is let in on the long way',
    find: 'elsif p_key.expires_at <= pg_catalog.clock_timestamp() then',
    replace: 'elsif false then',
    caught: [life, 'a key that has expired is refused'],
  },
  {
    ...door,
    name: 'a key expires by the clock of the transaction',
    find: 'p_key.expires_at <= pg_catalog.clock_timestamp()',
    replace: 'p_key.expires_at <= pg_catalog.now()',
    caught: [life, 'a key expires while the transaction that asks goes on'],
  },
  {
    ...door,
    name: 'a revoked key is let in on the long way',
    find: 'elsif p_key.revoked_at is not null then',
    replace: 'elsif false then',
    caught: ['http/key-life.test.ts', 'a key that is revoked between two requests'],
  },
  {
    ...door,
    name: 'a key for some tenants does what concerns all',
    find: 'elsif v_key.tenants is not null and not p_own then',
    replace: 'elsif false then',
    caught: [own, 'what concerns all tenants is refused'],
  },
  {
    ...door,
    name: 'a key with a rate takes the short way, and is never counted',
    find: 'and k.rate_limit is null ',
    replace: '',
    caught: [rates, 'a key over its rate hears'],
  },
  {
    ...door,
    name: 'an act is not said to be the key’s',
    find: "if p_scope in ('enqueue', 'admin') then",
    replace: 'if false then',
    caught: [onRecord, 'an act says whose key it was'],
  },
  {
    ...door,
    name: 'a key stays the actor of the calls that follow on its connection',
    find: 'pg_catalog.left(p_key, 13), true)',
    replace: 'pg_catalog.left(p_key, 13), false)',
    caught: [onRecord, 'an act says whose key it was'],
  },
  {
    ...made,
    name: 'the secret is in the act',
    find: "perform tock.act('create_key', pg_catalog.left(v_key, 13),",
    replace: "perform tock.act('create_key', v_key,",
    caught: [onRecord, 'keys that are made, changed, rotated and revoked'],
  },
  {
    ...made,
    name: 'a key for some tenants claims',
    find: "not p_key.scopes <@ array['enqueue', 'read'] then",
    replace: 'false then',
    caught: [life, 'a key for some tenants has no scope to claim'],
  },
  {
    ...made,
    name: 'what counts uses is logged, so a claim is no more alone',
    find: "'create unlogged sequence if not exists tock.%I cache 1', 'uses_'",
    replace: "'create sequence if not exists tock.%I cache 1', 'uses_'",
    caught: [life, 'a use is counted without a transaction id'],
  },
  {
    ...changed,
    name: 'a key is replaced twice',
    find: 'elsif v_other is not null then',
    replace: 'elsif false then',
    caught: [life, 'a key is replaced once'],
  },
  {
    ...changed,
    name: 'the overlap gives a key longer than it had',
    find: 'set expires_at = least(k.expires_at, v_now + p_overlap_seconds',
    replace: 'set expires_at = coalesce(null, v_now + p_overlap_seconds',
    caught: [life, 'without an overlap the old key ends at once'],
  },
  {
    ...changed,
    name: 'a rotated key goes on for ever',
    find: "least(k.expires_at, v_now + p_overlap_seconds * interval '1 second')",
    replace: 'k.expires_at',
    caught: [life, 'without an overlap the old key ends at once'],
  },
  {
    ...counted,
    name: 'a window is turned by whoever comes, without a lock',
    find: /elsif pg_catalog\.pg_try_advisory_xact_lock\(.*\) then\n(.*) then\n/,
    replace: 'elsif true then\n{inside} and pg_catalog.pg_sleep(0.02)::text is not null then\n',
    caught: [rates, 'fifty connections at once get no more'],
  },
  {
    ...counted,
    name: 'who comes to the lock late turns the window again',
    find: /elsif (pg_catalog\.pg_try_advisory_xact_lock\(.*\)) then\n.* then\n/,
    replace:
      'elsif pg_catalog.pg_sleep(0.02)::text is not null and {inside} then\n      if true then\n',
    caught: [rates, 'fifty connections at once get no more'],
  },
  {
    ...counted,
    name: 'what was counted is looked at before it is counted',
    find: 'if pg_catalog.nextval(v_counter) & 1048575 <= p_limit then',
    replace: 'if pg_catalog.nextval(v_counter) > 0 then',
    caught: [rates, 'fifty connections at once get no more'],
  },
  {
    ...counted,
    name: 'a window’s lock is every window’s',
    find: "p_prefix || ' ' || v_window",
    replace: 'p_prefix',
    caught: [rates, 'who holds a transaction open'],
  },
  {
    ...counted,
    name: 'a call counts as often as it asks',
    find: "if pg_catalog.current_setting('tock.counted', true) is not distinct from p_key.prefix then",
    replace: 'if false then',
    caught: [rates, 'what was refused or undone is not counted twice'],
  },
  {
    ...counted,
    name: "a revoked key's sequences go at once",
    find: "k.revoked_at < pg_catalog.now() - interval '1 hour' as is_over",
    replace: 'k.revoked_at is not null as is_over',
    caught: [life, "a revoked key's sequences stay"],
  },
  {
    ...counted,
    name: 'the duty sees the first keys only',
    find: 'where k.prefix > v_after order by k.prefix limit p_limit',
    replace: 'order by k.prefix limit p_limit',
    caught: [life, 'the duty goes round many keys'],
  },
  {
    ...tenants,
    name: "another tenant's task is read",
    find: 'when v_tenants is null or tock.tenant_of_task(p_id) = any (v_tenants) then p_id',
    replace: 'when true then p_id',
    caught: [own, "another tenant's task is, to every call"],
  },
  {
    ...tenants,
    name: "a task comes after another tenant's",
    find: 'then not coalesce(tock.tenant_of_task(l.id::bigint) = any (p_tenants), false) else',
    replace: 'then false else',
    caught: [own, "another tenant's task is, to every call"],
  },
  {
    ...tenants,
    name: 'a key enqueues for any tenant that is named',
    find: "and coalesce(t.task ->> 'tenant' <> all (p_tenants), pg_catalog.cardinality(p_tenants) > 1)",
    replace: 'and false',
    caught: [own, 'a key for one tenant enqueues'],
  },
  {
    ...tenants,
    name: 'unique keys and gates are the same for all tenants',
    find: "'tenant:' || pg_catalog.replace(pg_catalog.replace(p_tenant, '~', '~0'), '/', '~1') || '/' ||",
    replace: '',
    caught: [own, 'a request id, a unique key and a gate'],
  },
  {
    ...tenants,
    name: 'a tenant’s name may end where another’s goes on',
    find: "pg_catalog.replace(pg_catalog.replace(p_tenant, '~', '~0'), '/', '~1')",
    replace: 'p_tenant',
    caught: [own, 'no tenant comes to the name of another'],
  },
  {
    ...tenants,
    name: 'a request id of one tenant answers another',
    find: 'pg_catalog.jsonb_build_array(v_tenants, p_request_id)',
    replace: 'pg_catalog.jsonb_build_array(p_request_id)',
    caught: [own, 'a request id, a unique key and a gate'],
  },
  {
    ...tenants,
    name: 'a filter may name any tenant',
    find: 'if v_tenants is null or p_tenant = any (v_tenants) then',
    replace: 'if v_tenants is null or p_tenant is not null then',
    caught: [own, 'lists, and changes by filter'],
  },
  {
    file: 'functions/authorize.ts',
    name: 'many ids reach the tasks of other tenants',
    find: 'and (known.tenants is null or tock.tenant_of_task(p_id => u.id) = any (known.tenants))',
    replace: '',
    caught: [own, 'of many ids only those of its own'],
  },
  {
    file: 'functions/routes/parents.ts',
    name: "another tenant's result is seen as a parent's",
    find: 'where k.tenants is null or tock.tenant_of_task(p_id => l.id) = any (k.tenants)',
    replace: '',
    caught: [own, "a child of two tenants' tasks"],
  },
  {
    file: 'functions/endpoint.ts',
    name: 'each look of a call that waits is a request',
    find: "'tock.authorize(p_key => $1, p_again => true,'",
    replace: "'tock.authorize(p_key => $1,'",
    caught: ['http/key-life.test.ts', 'a claim that waits is one request'],
  },
  {
    file: 'functions/problem.ts',
    name: 'a 429 says a second, whatever it was',
    find: "/\\bin (\\d+) seconds/.exec(hint)?.[1] ?? '1'",
    replace: "(hint ? '1' : '1')",
    caught: ['http/key-life.test.ts', 'over its rate a key gets 429'],
  },
  {
    ...acts,
    name: 'whoever sets it is the key that acted',
    find: "case when pg_catalog.pg_has_role(session_user, 'tock_edge', 'member')\n        then nullif(pg_catalog.left(pg_catalog.current_setting('tock.key', true), 13), '') end",
    replace: "nullif(pg_catalog.left(pg_catalog.current_setting('tock.key', true), 13), '')",
    caught: [onRecord, 'an act says whose key it was'],
  },
  {
    file: 'routines/69_purge.sql',
    name: 'a purge leaves no act',
    find: "perform tock.act('purge_queue', p_queue,",
    replace: "perform pg_catalog.concat('purge_queue', p_queue,",
    caught: [onRecord, 'every verb that governs writes an act'],
  },
  {
    file: 'routines/77_put_schedule.sql',
    name: 'a payload is in the act',
    find: "p_settings - 'payload' - 'options'",
    replace: "p_settings - 'options'",
    caught: [onRecord, 'what a task or schedule carries'],
  },
  {
    ...acts,
    name: 'the newest acts go first',
    find: 'from tock.acts n order by n.number limit p_limit',
    replace: 'from tock.acts n order by n.number desc limit p_limit',
    caught: [onRecord, 'acts go after a year'],
  },
  {
    file: 'routines/65_doctor_keys.sql',
    name: 'the doctor warns of keys that nobody uses',
    find: "and u.last_used_at > pg_catalog.clock_timestamp() - interval '7 days'",
    replace: '',
    caught: [life, 'a key that is in use and ends within a week'],
  },
];
