import type { Bug } from './bugs.ts';

const half = 'a while over HTTP';
const caught: Bug['caught'] = ['faults/torture.test.ts', half];

/** What the torture's account finds without knowing of it. */
export const tortures: Bug[] = [
  {
    name: 'the torture finds an enqueue that is done twice',
    file: 'routines/21_enqueue.sql',
    find: 'if v_seen.ids is not null then',
    replace: 'if false then',
    caught,
  },
  {
    name: 'the torture finds a gate that lets in too many',
    file: 'routines/52_gates.sql',
    find: 'v_policy.gate_limit) end - pg_catalog.cardinality(v_next.inside);',
    replace: 'v_policy.gate_limit) end;',
    caught,
  },
  {
    name: 'the torture finds runs that are lost with a part of their lease',
    file: 'routines/41_lease_parts.sql',
    find: 'and l.runs = (',
    replace: 'and l.runs >= (',
    caught,
  },
  {
    name: 'the torture finds a child that comes before its parents',
    file: 'routines/55_parents.sql',
    find: 'where o.verdict is null and o.upto = 0);',
    replace: 'where o.verdict is null);',
    caught,
  },
  {
    name: 'the torture finds a completion that counts though its lease was over',
    file: 'routines/42_complete.sql',
    find: 'continue when v_run.state is not null and case',
    replace: "continue when v_run.state is not null and v_run.state <> 'lost' and case",
    caught,
  },
  {
    name: 'the torture finds a lease that is taken back before its time',
    file: 'routines/51_reap.sql',
    find: 'l.leased_until < $2 and',
    replace: "l.leased_until < $2 + interval '2 seconds' and",
    caught,
  },
  {
    name: 'the torture finds a cursor that passes a run nobody was given',
    file: 'routines/31_claim_statements.sql',
    find: 'from (select max(p.position) as last_position',
    replace: 'from (select max(p.position) + 1 as last_position',
    caught,
  },
  {
    name: 'the torture finds what a crash takes back though it was answered',
    file: 'migrations/0006_roles.sql',
    find: "alter role tock_edge set lock_timeout = '2s';",
    replace:
      "alter role tock_edge set lock_timeout = '2s'; alter role tock_edge set synchronous_commit = 'off';",
    caught,
  },
  {
    name: 'the torture finds a queue with more running than it allows',
    file: 'routines/36_limits.sql',
    find: 'v_one.running := v_one.running + v_runs;',
    replace: 'v_one.running := 0;',
    caught,
  },
  {
    name: 'the torture finds a queue that starts more than its rate',
    file: 'routines/36_limits.sql',
    find: 'p_asked.level - p_started',
    replace: 'p_asked.level',
    caught,
  },
  {
    name: 'the torture finds a claim from a paused queue',
    file: 'routines/30_claim.sql',
    find: 'if v_policy.paused or v_policy.pause_after_restore then',
    replace: 'if false then',
    caught,
  },
  {
    name: 'the torture finds a key that lets in after its end',
    file: 'routines/80_lets_in.sql',
    find: 'case when k.revoked_at is null and',
    replace: 'case when',
    caught,
  },
];
