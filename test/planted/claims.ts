import type { Bug } from './bugs.ts';

const outside: Omit<Bug, 'caught'> = {
  // The review's C1: the outer statement's snapshot is older than the one inside.
  name: 'payloads are read by the statement around the claim',
  file: 'routines/30_claim.sql',
  find: /function tock\.claim\(([\s\S]*?)comment on function tock\.claim is/,
  replace: `function tock.claim_inside({inside}
      create function tock.claim(
        p_queue text, p_worker text default null, p_limit integer default 1,
        p_lease_seconds integer default null, p_request_id text default null, p_alone boolean default false)
      returns table (
        lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
        priority integer, tenant text, created_at timestamptz, payload jsonb)
      language sql volatile security definer as $x$
        select c.lease, c.leased_until, c.id, c.run_id, c.attempt, c.max_attempts, c.priority, c.tenant,
          c.created_at, r.payload
        from tock.claim_inside(p_queue, p_worker, p_limit, p_lease_seconds, p_request_id, p_alone) c
        join tock.runs r on r.stream = (c.run_id & 1048575)::integer and r.position = c.run_id >> 20
      $x$;
      comment on function tock.claim is`,
};

/** Claims, and what they promise to other transactions. */
export const claims: Bug[] = [
  { ...outside, caught: ['sql/claim-transactions.test.ts', 'a claim that had to wait'] },
  { ...outside, caught: ['sql/claim-load.test.ts', 'eight workers at limit 7'] },
  {
    name: 'a claim takes no lock',
    file: 'routines/30_claim.sql',
    find: 'if not (v_held or pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_next.stream)) then',
    replace: 'if false then',
    caught: ['sql/claim-load.test.ts', 'eight workers at limit 7'],
  },
  {
    name: 'leases have no fence',
    file: 'migrations/0002_runs.sql',
    find: 'primary key (stream, after_position),',
    replace: 'primary key (stream, after_position, token),',
    caught: [
      'sql/claim-transactions.test.ts',
      'a claim under a repeatable read snapshot from before',
    ],
  },
  {
    name: 'the fence says 23505 to an old snapshot',
    file: 'routines/31_claim_statements.sql',
    find: "then ' on conflict do nothing' end",
    replace: "then '' end",
    caught: ['sql/claim-transactions.test.ts', 'a claim under a serializable snapshot from before'],
  },
  {
    name: "the cursor is the stream's start, not its newest lease",
    file: 'routines/31_claim_statements.sql',
    find: /greatest\(s\.start_after, coalesce\(\(\s*select l\.last_position from tock\.leases_%1\$s l where l\.stream = \$1[\s\S]*?limit 1\), 0\)\)/,
    replace: 's.start_after',
    caught: ['sql/claim.test.ts', 'a claim gives no more than its limit'],
  },
  {
    name: 'the cursor is an old lease, not the newest',
    file: 'routines/31_claim_statements.sql',
    find: 'order by l.stream desc, l.after_position desc limit 1',
    replace: 'order by l.stream, l.after_position limit 1',
    caught: ['sql/claim.test.ts', 'a claim gives no more than its limit'],
  },
  {
    name: "a repeated claim's request id is ignored",
    file: 'routines/30_claim.sql',
    find: 'if v_seen.token is not null then',
    replace: 'if false then',
    caught: ['sql/request-id.test.ts', 'a claim repeated with its request id gives the same runs'],
  },
  {
    name: 'a repeated claim gives runs that are no longer held',
    file: 'routines/31_claim_parts.sql',
    find: 'where %2$s and l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp()',
    replace: 'where %2$s',
    caught: ['sql/request-id.test.ts', 'a claim repeated after its lease has ended'],
  },
  {
    name: 'priorities are not looked at in order',
    file: 'routines/31_claim_statements.sql',
    find: 'order by t.priority, (t.lane',
    replace: 'order by t.priority desc, (t.lane',
    caught: ['sql/claim.test.ts', 'tasks are claimed by priority'],
  },
  {
    name: 'lanes have no turn',
    file: 'routines/31_claim_statements.sql',
    find: /order by t\.priority, \(t\.lane[^\n]*\n[^\n]*pg_catalog\.hashint4extended\(t\.slot, \$2\)/,
    replace: 'order by t.priority, t.number',
    caught: ['sql/claim.test.ts', 'one claim takes over the lanes'],
  },
  {
    name: "a claim's answer is not bounded in bytes",
    file: 'routines/31_claim_statements.sql',
    find: 'where n.upto <= $7 or ($8 and n.upto = n.cost)',
    replace: '',
    caught: ['sql/claim.test.ts', 'a task with large payloads'],
  },
  {
    name: 'a paused queue gives tasks',
    file: 'routines/45_hot.sql',
    find: 'and not q.paused and not q.pause_after_restore',
    replace: '',
    caught: ['sql/claim.test.ts', 'a paused queue takes tasks'],
  },
  {
    name: 'every claim commits asynchronously',
    file: 'routines/31_claim_parts.sql',
    find: 'select p_alone\n',
    replace: 'select true\n',
    caught: ['sql/claim-transactions.test.ts', 'nor does a claim beside other statements'],
  },
  {
    name: 'a claim believes that it is alone after a write',
    file: 'routines/31_claim_parts.sql',
    find: 'and pg_catalog.pg_current_xact_id_if_assigned() is null',
    replace: '',
    caught: ['sql/claim-transactions.test.ts', 'a claim that says it is alone but has a writer'],
  },
  {
    name: "the planner may begin a claim with all of a queue's streams",
    file: 'routines/31_claim_statements.sql',
    find: 'order by r.stream, r.position limit $3) r',
    replace: 'order by r.position + 0 limit $3) r',
    caught: ['sql/plans.test.ts', 'with 110,000 rows'],
  },
  {
    name: 'the planner may begin with all runs of a stream when it reaps',
    file: 'routines/51_reap.sql',
    find: /cross join lateral \(\s*select r\.stream[\s\S]*? where ([^\n]*)\n\s*and r\.position <> all[^\n]*\n\s*offset 0\) r[^\n]*\s*where \(select e[^)]*\) is null/,
    replace: `join tock.runs_%1$s r on {inside}
      where not exists (select from tock.results_%1$s e where e.stream = r.stream and e.position = r.position)`,
    caught: ['sql/plans.test.ts', 'with 110,000 rows'],
  },
  {
    name: 'a token of one run says the stream without its first bit',
    file: 'routines/31_claim_parts.sql',
    find: '::bit(20)::integer',
    replace: '::bit(20)::integer & 524287',
    caught: ['sql/tokens.test.ts', 'a token says its lease of one run'],
  },
  {
    name: 'a cursor before the first of its epoch is taken for one far above',
    file: 'routines/31_claim_parts.sql',
    find: 'select p_first - 1 + ((',
    replace: 'select p_first + ((',
    caught: ['sql/tokens.test.ts', 'a token says its lease of one run'],
  },
  {
    name: 'where a lease of one run lies is enough to end it',
    file: 'routines/31_claim_parts.sql',
    find: 'tock.token_cursor($1, %s) and l.token = $1',
    replace: 'tock.token_cursor($1, %s)',
    caught: ['sql/tokens.test.ts', 'by its token, and by no other'],
  },
  {
    name: 'a lease of one run from before tokens said so is not found',
    file: 'routines/31_claim_parts.sql',
    find: 'select pg_catalog.get_byte(pg_catalog.uuid_send(p_lease), 0) > 127\n    and',
    replace: 'select',
    caught: ['sql/tokens.test.ts', 'a lease of one run with a token of'],
  },
  {
    name: 'an epoch is as wide as anybody says',
    file: 'routines/14_epochs.sql',
    find: 'coalesce(least(p_width, 1073741824), ',
    replace: 'coalesce(p_width, ',
    caught: ['sql/tokens.test.ts', 'an epoch is never wider'],
  },
  {
    name: 'a promotion that fails fails the claim',
    file: 'routines/31_claim_parts.sql',
    find: 'v_limit * 3);\n      end loop;\n    exception when others or query_canceled then',
    replace: 'v_limit * 3);\n      end loop;\n    exception when division_by_zero then',
    caught: ['sql/after-missed.test.ts', 'what a claim does on the way can’t fail it'],
  },
  {
    name: 'a claim promotes for as long as something is due',
    file: 'routines/31_claim_parts.sql',
    find: " and pg_catalog.clock_timestamp() < v_now + interval '0.05 s'",
    replace: '',
    caught: ['sql/after-missed.test.ts', 'what a claim does on the way ends with its time'],
  },
];
