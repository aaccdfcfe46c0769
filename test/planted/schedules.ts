import type { Bug } from './bugs.ts';

const cron = 'routines/75_cron_next.sql';
const next = 'routines/76_next_fire.sql';
const put = 'routines/77_put_schedule.sql';
const fire = 'routines/78_fire_schedules.sql';
const all = 'routines/78_fire_all.sql';
const own = 'sql/schedules.test.ts';
const fails = 'sql/schedules-fails.test.ts';
const clocks = 'sql/schedules-clocks.test.ts';
const missed = 'sql/schedules-missed.test.ts';
const races = 'sql/schedules-races.test.ts';
const held = 'sql/schedules-held.test.ts';

/** What is enqueued by the clock. */
export const schedules: Bug[] = [
  {
    name: 'a time that the clocks skip is left out',
    file: cron,
    find: 'if p_plan.fixed and v_before < v_offset and',
    replace: 'if false and',
    caught: [clocks, 'a fixed time that the clocks skip'],
  },
  {
    name: 'a time that the clocks show twice runs twice',
    file: cron,
    find: 'case when p_plan.fixed then greatest(v_before, v_offset) else v_offset end',
    replace: 'v_offset',
    caught: [clocks, 'a fixed time that the clocks show twice'],
  },
  {
    name: 'who asks in a doubled hour is told its fires again',
    file: cron,
    find: 'v_wall := greatest(v_wall, v_change + v_before)',
    replace: 'null',
    caught: [clocks, 'a fixed time that the clocks show twice'],
  },
  {
    name: 'clocks are looked at within a day alone',
    file: cron,
    find: '172800',
    replace: '86400',
    caught: ['sql/cron-library.test.ts', 'next fires are those of croner where clocks change'],
  },
  {
    name: 'a period is counted from when it was looked at',
    file: next,
    find: 'else p_schedule.anchor_at + interval',
    replace: 'else v_after + 0 * interval',
    caught: [missed, 'a period keeps its beat'],
  },
  {
    name: 'of missed fires the first is made up for, not the last',
    file: next,
    find: "array[tock.last_fire(p_schedule, v_fire, p_now - interval '1 second' * p_schedule.jitter_seconds)]",
    replace: 'array[v_fire]',
    caught: [missed, 'of twenty missed fires, one'],
  },
  {
    name: 'what is late by a little is missed',
    file: next,
    find: "p_now - interval '1 second' * (p_schedule.missed_after_seconds + p_schedule.jitter_seconds)",
    replace: 'p_now',
    caught: [missed, 'a late tick misses nothing'],
  },
  {
    name: 'jitter is drawn anew each time',
    file: next,
    find: 'pg_catalog.hashtextextended(p_schedule.name, extract(epoch from p_fire_at)::bigint)',
    replace: '(pg_catalog.random() * 1e15)::bigint',
    caught: [own, 'jitter puts a fire off'],
  },
  {
    name: 'who puts a schedule that is being fired leaves it two next fires',
    file: put,
    find: 'exit when found;\n  end loop;\n  return v_fire;',
    replace: 'exit;\n  end loop;\n  return v_fire;',
    caught: [races, 'a schedule that is put while it is being fired'],
  },
  {
    name: 'a paused schedule has a next fire',
    file: put,
    find: 'case when p_schedule.paused_at is null then tock.next_fire(p_schedule, pg_catalog.clock_timestamp()) end',
    replace: 'tock.next_fire(p_schedule, pg_catalog.clock_timestamp())',
    caught: [own, 'a paused schedule does not fire'],
  },
  {
    name: 'who fires takes no lock',
    file: fire,
    find: 'limit least(50, p_limit - v_count) for update skip locked',
    replace: 'limit least(50, p_limit - v_count)',
    caught: [races, 'of eight who fire two hundred'],
  },
  {
    name: 'who fires waits for others who do',
    file: fire,
    find: 'limit least(50, p_limit - v_count) for update skip locked',
    replace: 'limit least(50, p_limit - v_count) for update',
    caught: [races, 'a firing in an open transaction'],
  },
  {
    name: 'firing always reads from the bottom',
    file: fire,
    find: 'if p_sweep is not true then',
    replace: 'if false then',
    caught: ['sql/schedules-flat.test.ts', 'beside an open transaction'],
  },
  {
    name: 'schedules are never swept',
    file: fire,
    find: 'tock.fire_schedules(1000, v_sweep)',
    replace: 'tock.fire_schedules(1000)',
    caught: [races, 'the duty sweeps once a minute'],
  },
  {
    name: 'who was writing schedules at a sweep is forgotten',
    file: fire,
    find: "and d.writers <> '{}'",
    replace: 'and false',
    caught: [races, 'a sweep notes who is writing'],
  },
  {
    name: 'a schedule that fails holds up the others',
    file: fire,
    find: 'perform tock.fire_failed(v_fire, p_now, sqlstate, sqlerrm);',
    replace: 'raise;',
    caught: [fails, 'a schedule that fails is on record'],
  },
  {
    name: 'a fire that met a lock is lost',
    file: fire,
    find: "'^(TK422|22)'",
    replace: "'.'",
    caught: [fails, 'what can be otherwise in a moment'],
  },
  {
    name: 'a task that runs is no overlap',
    file: all,
    find: "w.state in ('waiting', 'ready', 'running')",
    replace: "w.state in ('waiting', 'ready')",
    caught: [own, 'overlap skip'],
  },
  {
    name: 'what a claim has fired may be forgotten in a crash',
    file: 'routines/30_claim.sql',
    find: 'v_alone := v_alone and not tock.has_fired();',
    replace: '',
    caught: [missed, 'a claim that has fired commits synchronously'],
  },
  {
    name: 'next_wake_at knows no schedules',
    file: 'routines/70_duties.sql',
    find: "where f.due_at < 'infinity' and (f.due_at",
    replace: 'where false and (f.due_at',
    caught: [missed, 'next_wake_at is the next fire'],
  },
  {
    name: 'a tick that comes for a fire finds the duty done a moment ago',
    file: 'migrations/0019_schedules.sql',
    find: "values ('schedules', 1)",
    replace: "values ('schedules', 10)",
    caught: [missed, 'with no pg_cron a tick alone'],
  },
  {
    name: 'who fires waits for whoever holds a key',
    file: fire,
    find: "set lock_timeout = '200ms'\n",
    replace: '',
    caught: [held, 'a claim waits for nobody'],
  },
  {
    name: 'a schedule alone that meets a lock meets it twice',
    file: fire,
    find: 'if pg_catalog.cardinality(p_fires) = 1 then',
    replace: 'if false then',
    caught: [held, 'a schedule alone is tried once'],
  },
  {
    name: 'who was firing at a tick between two sweeps is forgotten',
    file: fire,
    find: 'and not v_writers <@ d.writers',
    replace: 'and false',
    caught: [held, 'what somebody was firing and gave back'],
  },
  {
    name: 'while somebody is firing, nobody is told to look again',
    file: fire,
    find: "pg_catalog.clock_timestamp() + interval '1 minute'",
    replace: "'infinity'",
    caught: [held, 'what somebody was firing and gave back'],
  },
  {
    name: 'right after a sweep, who has ended since wakes nobody',
    file: fire,
    find: 'else coalesce(d.swept_at, d.last_started_at) end',
    replace: 'when d.swept_at <= pg_catalog.clock_timestamp() then d.swept_at end',
    caught: [held, 'who was writing at a sweep that took long'],
  },
  {
    name: 'names of days are read by the rules of the database for letters',
    file: 'routines/75_cron_parse.sql',
    find: ' collate "C"',
    replace: '',
    caught: ['sql/schedules-locale.test.ts', 'an expression means the same'],
  },
  {
    name: 'a schedule whose next fire can not be told holds up the others',
    file: fire,
    find: 'when others then\n    -- nor can',
    replace: 'when invalid_parameter_value then\n    -- nor can',
    caught: [fails, 'a schedule whose next fire can not be told'],
  },
  {
    name: 'what was fired before the clock was set back hides what is due',
    file: fire,
    find: 'd.due_at <= pg_catalog.now()',
    replace: 'd.due_at is not null',
    caught: [held, 'when the clock was set back'],
  },
  {
    name: 'duties wait until a clock that was set back has caught up',
    file: 'routines/70_duties.sql',
    find: 'd.last_started_at > pg_catalog.clock_timestamp()',
    replace: 'false',
    caught: [held, 'when the clock was set back'],
  },
  {
    name: 'tidying stops after ten thousand fires',
    file: 'routines/70_duties.sql',
    find: '+ v_fired + tock',
    replace: '+ tock',
    caught: [fails, 'tidying keeps up'],
  },
  {
    name: 'next_fires begins with 1970 as the session sees it',
    file: next,
    find: "coalesce(p_after, '1970-01-01 00:00+00')",
    replace: "coalesce(p_after, '1970-01-01')",
    caught: [clocks, 'fires are counted alike'],
  },
  {
    name: 'a payload that is too large with its fire is taken',
    file: 'routines/76_check_schedule.sql',
    find: "(tock.task_of(p_schedule, pg_catalog.clock_timestamp()) -> 'payload')::text",
    replace: 'p_schedule.payload::text',
    caught: ['sql/schedules-refusals.test.ts', 'what a schedule can not have'],
  },
];
