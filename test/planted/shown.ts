import type { Bug } from './bugs.ts';

const shows: Pick<Bug, 'file' | 'caught'> = {
  file: 'routines/61_queue_stats.sql',
  caught: ['docs/seeds.test.ts', 'psql prints what the page says'],
};

/** What the page of the seeds would show wrongly. */
export const shown: Bug[] = [
  {
    ...shows,
    name: 'what ended before its lease still counts as running',
    find: 'e.position <= l.last_position), 0',
    replace: 'e.position <= l.after_position), 0',
  },
  {
    ...shows,
    name: 'dead tasks of epochs that are not settled are not counted',
    find: '(coalesce(p.dead, 0) + coalesce((',
    replace: '(coalesce((',
  },
];
