import type { Bug } from './bugs.ts';

const modelled = (bug: Omit<Bug, 'caught'>): Bug => ({
  ...bug,
  caught: ['model/model.test.ts', 'whatever is done to tasks, they stand as the model says'],
});

/** What a sequence of random verbs brings to light. */
export const inModel: Bug[] = [
  modelled({
    name: 'lost runs use up attempts in a chain of failures',
    file: 'routines/39_retry.sql',
    find: 'case when p_attempt - p_lost < coalesce',
    replace: 'case when p_attempt < coalesce',
  }),
  modelled({
    name: 'what is given back has used an attempt',
    file: 'routines/44_release_extend.sql',
    find: 'tock.back_at(v_run.queue, v_options -> v_run.position::text), v_run.attempt, v_run.lost',
    replace:
      'tock.back_at(v_run.queue, v_options -> v_run.position::text), v_run.attempt + 1, v_run.lost',
  }),
  modelled({
    name: 'a task is lost once more than its queue allows',
    file: 'routines/51_reap.sql',
    find: 'when r.lost + 1 < p.max_lost then',
    replace: 'when r.lost < p.max_lost then',
  }),
  modelled({
    name: 'a running task has left its unfinished key',
    file: 'routines/24_held_keys.sql',
    find: "in ('unfinished', 'period') and p_state = 'running')",
    replace: "in ('period') and p_state = 'running')",
  }),
  modelled({
    name: 'a changed ready task begins its attempts anew',
    file: 'routines/64_change_parts.sql',
    find: 'select p.next_stream, p.next_position, p.task_id, p.attempt, p.lost,',
    replace: 'select p.next_stream, p.next_position, p.task_id, 1, 0,',
  }),
  modelled({
    name: 'a gate counts nobody inside it',
    file: 'routines/52_gates.sql',
    find: 'else coalesce(v_gate.gate_limit, v_policy.gate_limit) end - pg_catalog.cardinality(v_next.inside);',
    replace: 'else coalesce(v_gate.gate_limit, v_policy.gate_limit) end;',
  }),
  modelled({
    name: 'a child waits for the first of its parents only',
    file: 'routines/55_parents.sql',
    find: "pg_catalog.jsonb_array_length(w.options -> 'after')), null, null, null, null)",
    replace: '1), null, null, null, null)',
  }),
  modelled({
    name: 'a run that is done leaves none of its tasks behind',
    file: 'routines/42_complete.sql',
    find: 'v_fresh := v_fresh || v_run;',
    replace: 'null;',
  }),
];
