import type { Bug } from './bugs.ts';

const half = 'half a minute over HTTP';
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
    name: 'the torture finds a run that is done and taken back',
    file: 'routines/51_reap.sql',
    find: /where \(select e\.position from tock\.results_%1\$s e[^)]*\) is null/,
    replace: '',
    caught,
  },
  {
    name: 'the torture finds runs that nobody was handed',
    file: 'routines/33_claim_marked.sql',
    find: 'perform tock.skip_to(p_stream, p_after, v_passed.after_position, v_leading);',
    replace: 'null;',
    caught,
  },
  {
    name: 'the torture finds a child that comes before its parents',
    file: 'routines/55_parents.sql',
    find: "or w.options ->> 'on_parent_failure' = 'run' then",
    replace: "or e.state = 'dead' then",
    caught,
  },
];
