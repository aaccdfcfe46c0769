import type { Bug } from './bugs.ts';

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
];
