import type { Mutant } from './mutants.ts';

/** Schedules: the next fire, and firing it once. */
export const schedules: Mutant[] = [
  {
    name: 'a time that the clocks skip is left out',
    in: 'tock.cron_after',
    find: 'if p_plan.fixed and v_before < v_offset and',
    replace: 'if false and',
    caught: ['sql/features/schedules/time-zones.test.ts', 'a fixed time that the clocks skip'],
  },
  {
    name: 'a time that the clocks show twice fires twice',
    in: 'tock.cron_after',
    find: 'case when p_plan.fixed then greatest(v_before, v_offset) else v_offset end',
    replace: 'v_offset',
    caught: [
      'sql/features/schedules/time-zones.test.ts',
      'a fixed time that the clocks show twice',
    ],
  },
  {
    name: 'a period is counted from the last look',
    in: 'tock.next_fire',
    find: 'when v_after < p_schedule.anchor_at then p_schedule.anchor_at else p_schedule.anchor_at + interval',
    replace:
      'when v_after < p_schedule.anchor_at then p_schedule.anchor_at else v_after + 0 * interval',
    caught: [
      'sql/features/schedules/missed-fires.test.ts',
      'a schedule with a period keeps its phase',
    ],
  },
  {
    name: 'of missed fires the first is made up for, not the last',
    in: 'tock.plan_firing',
    find: "array[tock.last_fire(p_schedule, v_fire, p_now - interval '1 second' * p_schedule.jitter_seconds)]",
    replace: 'array[v_fire]',
    caught: [
      'sql/features/schedules/missed-fires.test.ts',
      'with missed one, the last of twenty missed fires',
    ],
  },
  {
    name: 'a fire that is late by a little is missed',
    in: 'tock.plan_firing',
    find: "p_now - interval '1 second' * (p_schedule.missed_after_seconds + p_schedule.jitter_seconds)",
    replace: 'p_now',
    caught: [
      'sql/features/schedules/missed-fires.test.ts',
      'fires that are less than a minute late',
    ],
  },
  {
    name: 'a schedule that is put while it fires has two next fires',
    in: 'tock.remove_next_fire',
    find: 'exit when found; end loop; return v_fire;',
    replace: 'exit; end loop; return v_fire;',
    caught: [
      'sql/features/schedules/schedules-races.test.ts',
      'a schedule that is put while it is being fired',
    ],
  },
  {
    name: 'two transactions fire a schedule',
    in: 'tock.fire_schedules',
    find: 'limit least(50, p_limit - v_count) for update skip locked',
    replace: 'limit least(50, p_limit - v_count)',
    caught: ['sql/features/schedules/schedules-races.test.ts', 'eight sessions fire two hundred'],
  },
  {
    name: 'a running task is no overlap',
    in: 'tock.fire_all',
    find: "from tock.resolve_tasks(v_ids) w where w.state in ('waiting', 'ready', 'running')",
    replace: "from tock.resolve_tasks(v_ids) w where w.state in ('waiting', 'ready')",
    caught: ['sql/features/schedules/schedules.test.ts', 'overlap skip'],
  },
];
