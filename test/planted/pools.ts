import type { Bug } from './bugs.ts';

const places = 'routines/55_places.sql';
const assign = 'routines/57_assign.sql';
const all = 'routines/57_assign_all.sql';
const duty = 'routines/58_pools.sql';
const migration = 'migrations/0014_pools.sql';
const own = 'sql/pools.test.ts';
const races = 'sql/pools-races.test.ts';
const flat = 'sql/pools-flat.test.ts';

/** Pools of workers, and claims of one at a time. */
export const pools: Bug[] = [
  {
    name: 'a task may have two workers',
    file: migration,
    find: 'create unique index places_by_task',
    replace: 'create index places_by_task',
    caught: [races, 'sixteen who assign the same many tasks at once'],
  },
  {
    name: 'a worker may have two tasks',
    file: migration,
    find: 'create unique index places_by_worker',
    replace: 'create index places_by_worker',
    caught: [races, 'pairs of which both sides are wanted by many'],
  },
  {
    name: 'who finds a worker locked waits for it',
    file: places,
    find: 'and p.turn >= v_start\n    order by p.pool, p.turn limit 1 for update skip locked',
    replace: 'and p.turn >= v_start\n    order by p.pool, p.turn limit 1 for update',
    caught: [races, 'an election in an open transaction holds up nobody'],
  },
  {
    name: 'a worker that was locked in vain is gone',
    file: places,
    find: 'o where o.number is not null\n      on conflict',
    replace: 'o where false\n      on conflict',
    caught: [races, 'a worker that was given a task in vain is free again'],
  },
  {
    name: 'whoever knows the task may end what another holds',
    file: assign,
    find: 'if v_place.number is null or v_place.number <> p_fence then',
    replace: 'if v_place.number is null then',
    caught: [own, 'a heartbeat says what the worker holds'],
  },
  {
    name: 'a stale heartbeat revives what was lost',
    file: 'routines/56_workers.sql',
    find: /v_(?:place|held)\.leased_until <= (?:v_now|pg_catalog\.clock_timestamp\(\))/,
    replace: 'false',
    caught: [own, 'a heartbeat says what the worker holds'],
  },
  {
    name: 'a worker that has vanished keeps its task for good',
    file: assign,
    find: 'if v_task.worker is not null and v_task.leased_until > pg_catalog.clock_timestamp() then',
    replace: 'if v_task.worker is not null then',
    caught: [own, 'of three that want to lead'],
  },
  {
    name: 'who has vanished is elected',
    file: places,
    find: 'elsif v_place.leased_until > pg_catalog.clock_timestamp() then',
    replace: 'elsif true then',
    caught: [own, 'workers that vanish are let go'],
  },
  {
    name: 'many are assigned to who has vanished',
    file: all,
    find: 'where f.leased_until <= pg_catalog.clock_timestamp()',
    replace: 'where false',
    caught: [own, 'many tasks are assigned in one call'],
  },
  {
    name: 'of many, those that were locked in vain are gone',
    file: all,
    find: 'if pg_catalog.cardinality(v_workers) < pg_catalog.cardinality(v_free) then',
    replace: 'if false then',
    caught: [races, 'sixteen who assign the same many tasks at once'],
  },
  {
    name: 'the duty takes workers that are alive',
    file: duty,
    find: 'where p.number = d.number and d.leased_until <= p_now;',
    replace: 'where p.number = d.number;',
    caught: [own, 'a worker with heartbeats stays'],
  },
  {
    name: 'an offered task is lost with its worker',
    file: duty,
    find: 'from unnest(v_due) d where d.leased_until <= p_now and d.offered;',
    replace: 'from unnest(v_due) d where false;',
    caught: [own, 'workers that vanish are let go'],
  },
  {
    name: 'a worker takes a second task beside its own',
    file: assign,
    find: 'if v_own.task is not null then',
    replace: 'if false then',
    caught: [own, 'a worker that takes gets the oldest task'],
  },
  {
    name: 'who came late is never found',
    file: places,
    find: 'if p_start = 0 or (',
    replace: 'if true or (',
    caught: [races, 'who joined in a transaction that was open for long'],
  },
  {
    name: 'a line is read from the bottom',
    file: places,
    find: 'then min(m.reached) else 0 end',
    replace: 'then 0 else 0 end',
    caught: [flat, 'beside an open transaction'],
  },
  {
    name: 'the duty leaves behind who is below the marks',
    file: duty,
    find: 'perform tock.bring_up(v_pool, v_line, tock.line_start(v_pool, v_line));',
    replace: 'null;',
    caught: [races, 'who is left behind comes up by the duty'],
  },
  {
    name: 'where no duty runs a worker looks back for a minute only',
    file: duty,
    find: "if v_reached < v_now - interval '1 minute' then",
    replace: 'if false then',
    caught: [own, 'where nobody ticks'],
  },
  {
    name: 'fences that a lost server gave out are given again',
    file: 'routines/17_guard.sql',
    find: "setval('tock.place_numbers', 1048576 + ",
    replace: "setval('tock.place_numbers', 1 + ",
    caught: [own, 'after a restore fences go on'],
  },
  {
    name: 'each claim of its own is a new one',
    file: 'routines/38_claim_own.sql',
    find: 'if v_token is not null then',
    replace: 'if false then',
    caught: ['sql/claim-own.test.ts', 'a worker that claims one at a time'],
  },
  {
    name: 'two claims of their own do not follow each other',
    file: 'routines/38_claim_own.sql',
    find: 'o.worker = p_worker for update;',
    replace: 'o.worker = p_worker;',
    caught: ['sql/claim-own.test.ts', 'sixteen calls of a worker at once'],
  },
];
