import type { Bug } from './bugs.ts';

const ends: Pick<Bug, 'file'> = { file: 'routines/40_end_runs.sql' };
const stages: Pick<Bug, 'file'> = { file: 'routines/41_stages.sql' };
const complete: Pick<Bug, 'file'> = { file: 'routines/42_complete.sql' };
const plain = 'sql/pipelines.test.ts';
const refusals = 'sql/pipelines-refusals.test.ts';
const policies = 'sql/pipelines-stages.test.ts';
const minds = 'sql/pipelines-minds.test.ts';

/** Pipelines: stages, jumps, and what is wished for on the way. */
export const pipelines: Bug[] = [
  {
    file: 'routines/45_hot.sql',
    name: 'a lease with a pipeline is closed whole',
    find: 'if v_asks and (%14$s) then',
    replace: 'if v_asks and (%14$s) and false then',
    caught: [plain, 'a whole lease is completed without results'],
  },
  {
    ...complete,
    name: 'a lease with a pipeline is closed whole where its epoch is over',
    find: 'elsif v_done = -1 and tock.leads_on(p_lease, v_epoch) then',
    replace: 'elsif false then',
    caught: [plain, 'a whole lease of an earlier epoch moves its tasks on, too'],
  },
  {
    ...complete,
    name: 'attempts are counted on from stage to stage',
    find: "then '-infinity'::timestamptz end, 1, 0,\n",
    replace: "then '-infinity'::timestamptz end, v_run.attempt, v_run.lost,\n",
    caught: [plain, 'a lease that the reaper took back moves nothing'],
  },
  {
    ...complete,
    name: 'a result that is too large is let into the next stage',
    find: /perform tock\.check_stage_takes\([^;]+;/,
    replace: '',
    caught: [refusals, 'a result that the next queue is too small for is refused'],
  },
  {
    ...ends,
    name: 'a payload that is too large goes on as it is',
    find: 'perform tock.check_stages_take(v_again, p_fields);',
    replace: '',
    caught: [refusals, 'a payload that goes on as it is, or as it was changed, is refused'],
  },
  {
    ...complete,
    name: 'the next payload is the result as it is kept',
    find: /v_payload := v_result;([\s\S]+?)v_result := case when v_keep then v_result end;/,
    replace: '{inside}v_result := case when v_keep then v_result end; v_payload := v_result;',
    caught: [policies, 'a queue without keep_results hands its result on'],
  },
  {
    ...stages,
    name: 'a completion with another stage is taken for the same',
    find: "coalesce(tock.led_to(p_run.next_id), '') = coalesce(p_stage, '')",
    replace: 'true',
    caught: [plain, 'a completion that is made again answers the same'],
  },
  {
    ...stages,
    name: 'a time limit of a queue goes on to the next',
    find: "coalesce(v_own -> 'timeout_seconds',",
    replace: "coalesce(p_options -> 'timeout_seconds',",
    caught: [policies, 'how long a task may wait and run is asked of each stage anew'],
  },
  {
    ...ends,
    name: 'a task passes the gate of the next stage',
    find: "when e.queue is not null and r.options ? 'gate'",
    replace: 'when false',
    caught: [policies, 'at a gate a task stands in each stage anew'],
  },
  {
    ...ends,
    name: 'a payload that was changed in a stage comes again in another',
    find: "and coalesce((w.changes ->> 'at')::bigint >> 20 > a.stage_after, true)",
    replace: '',
    caught: [minds, 'a payload that is changed while a stage runs is for its next attempt'],
  },
  {
    ...stages,
    name: 'a stage doesn’t say after which run it began',
    find: /coalesce\(v_own, '\{\}'\) \|\| pg_catalog\.jsonb_build_object\('after', p_after\)/,
    replace: "coalesce(v_own, '{}')",
    caught: [minds, 'a payload that is changed in a stage is not that of a later visit'],
  },
  {
    ...stages,
    name: 'a repeat of what was done and cancelled is refused',
    find: "else p_run.state = 'cancelled' and p_run.error is not distinct from 'null' and p_stage is not null end",
    replace: 'else false end',
    caught: [minds, 'a task that is cancelled while a stage runs goes no further'],
  },
  {
    ...stages,
    name: 'a run that was given back, its task cancelled, counts as completed',
    find: "and p_run.error is not distinct from 'null' and",
    replace: "and coalesce(p_run.error, 'null') = 'null' and",
    caught: [minds, 'a run that was not completed before its task was cancelled'],
  },
  {
    file: 'routines/24_held_keys.sql',
    name: 'a key that counts until the start is held by a later stage',
    find: "case when l.later and a.state in ('waiting', 'ready') then 'running' else a.state end",
    replace: 'a.state',
    caught: [minds, 'a key that counts until the start is free'],
  },
  {
    file: 'routines/24_held_keys.sql',
    name: 'a newer task of a key gives a later stage its payload',
    find: 'if p_at.queue is null then',
    replace: 'if false then',
    caught: [minds, 'what has a key in a later stage is not given'],
  },
  {
    file: 'routines/24_held_keys.sql',
    name: 'what was sent back to its first stage waits for its start again',
    find: 'select a.queue <> p_queue or a.current_id = any (v_led) as later',
    replace: 'select a.queue <> p_queue as later',
    caught: [minds, 'what was sent back to its first stage has started'],
  },
  {
    file: 'routines/64_move.sql',
    name: 'a task is moved out of its pipeline',
    find: "?| array['gate', 'unique_key', 'pipeline']",
    replace: "?| array['gate', 'unique_key']",
    caught: [policies, 'a task with a pipeline is not moved'],
  },
  {
    file: 'routines/81_http.sql',
    name: 'a pipeline leads where its key may not enqueue',
    find: "perform tock.authorize(p_key, 'enqueue', s.stage #>> '{}', true)",
    replace: 'perform s.stage',
    caught: ['http/pipelines.test.ts', 'a key that is not for all stages'],
  },
];
