import type { Bug } from './bugs.ts';

const tidy: Pick<Bug, 'file'> = { file: 'routines/54_tidy_keys.sql' };

/** Which gates are locked, and who waits for one. */
export const gateLocks: Bug[] = [
  {
    file: 'routines/44_hot_asked.sql',
    name: 'a part of a lease opens all gates of its stream',
    find: 'where r.stream = e.stream and r.position = e.position and r.options',
    replace: 'where r.stream = e.stream and r.options',
    caught: ['sql/gate-locks.test.ts', 'a part of a lease opens only the gates of what ended'],
  },
  {
    file: 'routines/42_complete.sql',
    name: 'a part of a lease that is completed opens no gate',
    find: 'perform tock.leave_gates_at(v_epoch, v_before || v_ended);',
    replace: '',
    caught: ['sql/gates.test.ts', 'is done with a result'],
  },
  {
    ...tidy,
    name: 'tidy locks gates that it only looks at',
    find: 'order by g.queue, g.gate limit p_limit);',
    replace: 'order by g.queue, g.gate limit p_limit for update skip locked);',
    caught: ['sql/gate-locks.test.ts', 'are forgotten, and none is locked that stays'],
  },
  {
    ...tidy,
    name: 'tidy forgets a gate that somebody came to since it looked',
    find: 'continue when v_gate.gate is null or not tock.is_idle_gate(v_gate);',
    replace: 'continue when v_gate.gate is null;',
    caught: ['sql/gate-locks.test.ts', 'stay when somebody comes while others are forgotten'],
  },
  {
    file: 'routines/51_reap.sql',
    name: 'the reaper waits for gates',
    find: 'where tock.lease_asks(e.token)), p_epoch, false);',
    replace: 'where tock.lease_asks(e.token)), p_epoch, true);',
    caught: ['sql/gate-locks.test.ts', 'lost runs are taken back while'],
  },
  {
    file: 'routines/52_gate_lines.sql',
    name: 'each new gate takes a lock of its own',
    find: '& 63)::text)',
    replace: ')::text)',
    caught: ['sql/gate-locks.test.ts', 'a call that makes many gates takes few locks'],
  },
  {
    file: 'routines/50_promote.sql',
    name: 'of two who promote at once the faster comes to the gate first',
    find: 'v_behind := tock.behind_others(v_gated, v_from);',
    replace: "v_behind := '{}';",
    caught: ['sql/gate-order.test.ts', 'nobody comes to a gate before one'],
  },
  {
    file: 'routines/50_promote.sql',
    name: 'nothing is promoted behind tasks that another promotion holds up',
    find: /select unnest\(v_behind\)\) \|\| array\([^;]+skip locked\);/,
    replace: 'select unnest(v_behind));',
    caught: ['sql/gate-order.test.ts', 'an open promotion at one gate holds up no others'],
  },
];
