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
];
