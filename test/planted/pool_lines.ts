import type { Bug } from './bugs.ts';

const lines = 'routines/55_lines.sql';
const workers = 'routines/56_workers.sql';
const all = 'routines/57_assign_all.sql';
const duty = 'routines/58_pool_lines.sql';
const tests = 'sql/pools-lines.test.ts';
const lists = 'sql/pools-lists.test.ts';

/** The lines of pools, and lists of tasks. */
export const poolLines: Bug[] = [
  {
    name: 'a line is read from the bottom',
    file: 'routines/57_assign.sql',
    find: 'offset 3 limit 1), 0)',
    replace: 'offset 300000 limit 1), 0)',
    caught: ['sql/pools-flat.test.ts', 'beside an open transaction'],
  },
  {
    name: 'who joined waits for a task that is locked',
    file: lines,
    find: 'limit p_limit for update skip locked',
    replace: 'limit p_limit for update',
    caught: ['sql/pools-races.test.ts', 'a worker that joined takes past'],
  },
  {
    name: 'who has vanished is elected',
    file: lines,
    find: 'or v_place.leased_until > pg_catalog.clock_timestamp() then',
    replace: 'or true then',
    caught: ['sql/pools.test.ts', 'workers that vanish are let go'],
  },
  {
    name: 'those who have vanished are let go one by one',
    file: lines,
    find: 'order by n.pool, n.turn limit 1000',
    replace: 'order by n.pool, n.turn limit 1',
    caught: [tests, 'a free worker is found behind'],
  },
  {
    name: 'many are assigned to who has vanished',
    file: lines,
    find: 'where f.leased_until <= pg_catalog.clock_timestamp()',
    replace: 'where false',
    caught: ['sql/pools.test.ts', 'many tasks are assigned in one call'],
  },
  {
    name: 'who came late is never found',
    file: lines,
    find: 'if p_start = 0 or (',
    replace: 'if true or (',
    caught: [tests, 'who lies below where the line is read'],
  },
  {
    name: 'who is found below keeps the others from others',
    file: lines,
    find: 'tock.in_line_below(p_pool, p_line, v_start, 1)',
    replace: 'tock.in_line_below(p_pool, p_line, v_start, 1000)',
    caught: [tests, 'one that takes, or elects, from below'],
  },
  {
    name: 'many tasks find those above alone',
    file: lines,
    find: 'if pg_catalog.cardinality(v_free) < p_limit then',
    replace: 'if false then',
    caught: [tests, 'many tasks find all workers'],
  },
  {
    name: 'who is asked for by name marks the line',
    file: 'routines/55_places.sql',
    find: '  return v_pair;',
    replace:
      "  if p_waiting.turn is not null then perform tock.mark_line(p_pool, 'waiting', p_waiting.turn, 1, null); end if;\n  return v_pair;",
    caught: [tests, 'who is asked for by name'],
  },
  {
    name: 'the duty leaves behind who is below the marks',
    file: duty,
    find: 'perform tock.move_start(v_pool, v_line);',
    replace: 'null;',
    caught: [tests, 'the duty has a line read from who lies below'],
  },
  {
    name: 'the duty holds whom it finds below',
    file: duty,
    find: "raise sqlstate 'TK000';",
    replace: 'perform tock.mark_line(p_pool, p_line, v_first, 4, null);',
    caught: [tests, 'the duty has a line read from who lies below'],
  },
  {
    name: 'marks of pools that everybody has left stay',
    file: duty,
    find: 'and tock.is_left(v_pool) then',
    replace: 'and false then',
    caught: [tests, 'of pools that everybody has left'],
  },
  {
    name: 'marks of pools that somebody is in go',
    file: duty,
    find: 'and tock.is_left(v_pool) then',
    replace: 'then',
    caught: [tests, 'of pools that everybody has left'],
  },
  {
    name: 'the duty looks at who beats in time',
    file: workers,
    find: "case when p.look_at < v_now + v_seconds * interval '0.5 second'",
    replace: 'case when false',
    caught: [tests, 'who beats in time'],
  },
  {
    name: 'who is being taken out hears that it is free',
    file: workers,
    find: 'elsif v_place.leased_until <= pg_catalog.clock_timestamp() then\n      -- free',
    replace: 'elsif false then\n      -- free',
    caught: [tests, 'who is told that it is free'],
  },
  {
    name: 'a page of a pool is empty though more follow',
    file: 'routines/58_pools.sql',
    find: /\n *and p\.leased_until > pg_catalog\.clock_timestamp\(\)(?=\n *order by p\.pool, p\.worker)/,
    replace: '',
    caught: [tests, 'the next page of a pool'],
  },
  {
    name: 'a list waits for who has one of its tasks',
    file: all,
    find: "set lock_timeout = '50ms'",
    replace: "set lock_timeout = '2s'",
    caught: [lists, 'a list leaves out what an offer'],
  },
  {
    name: 'one task that others have fails a list',
    file: all,
    find: 'exception when lock_not_available then',
    replace: 'exception when division_by_zero then',
    caught: [lists, 'a list leaves out what an offer'],
  },
  {
    name: 'a list waits for a task that is being taken',
    file: all,
    find: 'for update of w skip locked',
    replace: 'for update of w',
    caught: [lists, 'a list leaves out what is given away'],
  },
  {
    name: 'tasks are offered in the order in which they are given',
    file: 'routines/57_offer.sql',
    find: 'order by o.task collate "C", o.number',
    replace: 'order by o.number',
    caught: [lists, 'two that offer the same tasks'],
  },
];
