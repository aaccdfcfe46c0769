import type { Bug } from './bugs.ts';

const places = 'routines/55_places.sql';
const assign = 'routines/57_assign.sql';
const all = 'routines/57_assign_all.sql';
const duty = 'routines/58_pools.sql';
const migration = 'migrations/0014_pools.sql';
const own = 'sql/pools.test.ts';
const races = 'sql/pools-races.test.ts';
const anew = 'sql/pools-anew.test.ts';

/** Pools of workers. */
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
    caught: [anew, 'a worker takes under repeatable read'],
  },
  {
    name: 'who finds a worker locked waits for it',
    file: assign,
    find: 'for update of w skip locked',
    replace: 'for update of w',
    caught: [races, 'an election in an open transaction holds up nobody'],
  },
  {
    name: 'a worker that was locked in vain is gone',
    file: places,
    find: 'o where o.number is not null\n      on conflict',
    replace: 'o where false\n      on conflict',
    caught: [races, 'a worker that was to have a task which is offered meanwhile'],
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
    name: 'of many, those that were locked in vain are gone',
    file: all,
    find: 'if pg_catalog.cardinality(v_workers) < v_count then',
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
    name: 'a worker joins beside its own take',
    file: 'routines/56_workers.sql',
    find: "perform tock.one_at_a_time(p_pool, 'worker', p_worker);",
    replace: 'null;',
    caught: [anew, 'a worker that comes anew by all doors at once'],
  },
  {
    name: 'what was offered in between is an error',
    file: assign,
    find: 'exception when unique_violation then',
    replace: 'exception when division_by_zero then',
    caught: [anew, 'a task that is offered and assigned at once'],
  },
  {
    name: 'who vanished first in its line is elected at once',
    file: assign,
    find: 'where p.leased_until > v_now and p.ctid = (',
    replace: 'where p.ctid = (',
    caught: [anew, 'the free worker that vanished first'],
  },
  {
    name: 'any fence ends what is held',
    file: assign,
    find: 'p.number = coalesce(p_fence, p.number)',
    replace: 'true',
    caught: [anew, 'who is free again stands at the end'],
  },
  {
    name: 'who is free again is the next at once',
    file: assign,
    find: 'set number = v_number, turn = v_number,',
    replace: 'set number = v_number,',
    caught: [anew, 'who is free again stands at the end'],
  },
  {
    name: 'a worker that had vanished is free by what it held',
    file: assign,
    find: 'p.joined\n      and p.leased_until > pg_catalog.clock_timestamp();',
    replace: 'p.joined;',
    caught: [anew, 'what is ended past its lease'],
  },
  {
    name: 'a take under an old snapshot is a broken key',
    file: assign,
    find: /(?<='worker', p_worker\)\)\n *)and pg_catalog\.current_setting\('transaction_isolation'\) = 'read committed'/,
    replace: 'and true',
    caught: [anew, 'a worker takes under repeatable read'],
  },
  {
    name: 'a worker that was taken out joins beside its own take',
    file: 'routines/56_workers.sql',
    find: 'v_place.number is null and not v_alone',
    replace: 'v_place.number is null and v_try = 1',
    caught: [anew, 'a worker that was taken out while it joined'],
  },
  {
    name: 'a fence is drawn before its worker is waited for',
    file: assign,
    find: "perform tock.one_at_a_time(p_pool, 'worker', p_worker);\n      end if;",
    replace: 'null;\n      end if;',
    caught: [anew, 'the fence of a task grows'],
  },
  {
    name: 'a server that was restored gives fences twice at once',
    file: assign,
    find: ' and tock.hot_epoch() is not null',
    replace: '',
    caught: [anew, 'after a restore no fence is given twice'],
  },
  {
    name: 'a server that was restored gives fences twice the slow way',
    file: assign,
    find: 'perform tock.guard_fences();',
    replace: 'null;',
    caught: [anew, 'after a restore no fence is given twice'],
  },
  {
    name: 'a server that was restored gives a list fences twice',
    file: all,
    find: 'perform tock.guard_fences();',
    replace: 'null;',
    caught: [anew, 'after a restore no fence is given twice'],
  },
];
