import type { Bug } from './bugs.ts';

const caught: Bug['caught'] = ['faults/torture.test.ts', 'kills, broken ways'];

/** What the torture has to find, whatever the other tests say of it. */
export const tortured: Bug[] = [
  {
    name: 'a gate lets in one more than it may, and the torture sees it',
    file: 'routines/52_gates.sql',
    find: 'else coalesce(v_gate.gate_limit, v_policy.gate_limit) end - pg_catalog.cardinality(v_next.inside);',
    replace:
      'else coalesce(v_gate.gate_limit, v_policy.gate_limit) + 1 end - pg_catalog.cardinality(v_next.inside);',
    caught,
  },
  {
    name: 'lost runs are forgotten, and the torture sees it',
    file: 'routines/51_reap.sql',
    find: '  perform tock.end_runs(p_epoch, v_ended);\n',
    replace: '',
    caught,
  },
];
