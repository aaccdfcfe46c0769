import type { Bug } from './bugs.ts';

/** What comes back to a gate, and what was put off. */
export const gateRetries: Bug[] = [
  {
    file: 'routines/52_gates.sql',
    name: 'a retry goes on through a paused gate',
    find: /and not v_gate\.paused\s+order by w\.position/,
    replace: 'order by w.position',
    caught: ['sql/gate-retries.test.ts', 'failed and is to be tried at once'],
  },
  {
    file: 'routines/39_retry.sql',
    name: 'what comes back at once passes a paused gate',
    find: "and tock.is_paused_gate(p_queue, p_options ->> 'gate')",
    replace: 'and false',
    caught: ['sql/gate-retries.test.ts', 'was lost'],
  },
  {
    file: 'routines/44_release_extend.sql',
    name: 'what is given back passes a paused gate',
    find: 'tock.back_at(v_run.queue, v_options -> v_run.position::text)',
    replace: "'-infinity'",
    caught: ['sql/gate-retries.test.ts', 'was given back'],
  },
  {
    file: 'routines/52_inside_gates.sql',
    name: 'a retry that was put off keeps its turn',
    find: "where (w.changes ->> 'run_at')::timestamptz = d.due_at",
    replace: 'where false',
    caught: ['sql/gate-retries.test.ts', 'before it has failed'],
  },
  {
    file: 'routines/52_inside_gates.sql',
    name: 'a retry that was ever put off keeps no turn any more',
    find: "where (w.changes ->> 'run_at')::timestamptz = d.due_at",
    replace: "where w.changes ? 'run_at'",
    caught: ['sql/gate-retries.test.ts', 'and backs off in it once more'],
  },
  {
    file: 'routines/63_cancel_change.sql',
    name: 'a retry that is put off opens no gate',
    find: 'perform tock.give_up_turns(v_done);',
    replace: '',
    caught: ['sql/gate-retries.test.ts', 'as it waits'],
  },
];
