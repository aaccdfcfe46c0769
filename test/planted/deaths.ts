import type { Bug } from './bugs.ts';

const told = 'sql/deaths.test.ts';
const file = 'routines/68_deaths.sql';

/** Deaths, of which endpoints are told. */
export const deaths: Bug[] = [
  {
    name: 'of two calls that end a run both note its death',
    file,
    find: '          and r.ended_at = pg_catalog.now()\n',
    replace: '',
    caught: [told, 'of two calls that fail a run at once only one counts'],
  },
  {
    name: 'a death that is committed late lies below where they are read from',
    file,
    find: 'case when v_writing or v_taken',
    replace: 'case when v_taken',
    caught: [told, 'what was rolled back is not told, and what is committed late is'],
  },
  {
    name: 'a webhook that dies causes another',
    file,
    find: "s.queue <> 'tock-webhooks' and ",
    replace: '',
    caught: [told, 'a webhook that dies causes no other'],
  },
  {
    name: 'each look at the deaths sends a message',
    file,
    find: "d.swept_at > pg_catalog.clock_timestamp() - interval '1 minute' from",
    replace: 'false from',
    caught: [told, 'a queue is told of once a minute at most'],
  },
  {
    name: 'runs that will be tried again count as deaths',
    file,
    find: 'r.next_id is null and ',
    replace: '',
    caught: [told, 'of a batch the message has how many'],
  },
  {
    name: "anybody's words are signed as Tock's",
    file: 'routines/21_enqueue.sql',
    find: "  perform tock.check_not_webhooks(p_queue, 'queue');\n",
    replace: '',
    caught: [told, "nobody else's words are signed as Tock's"],
  },
  {
    name: 'the guard leaves numbers of deaths where a restore has set them',
    file: 'routines/17_guard.sql',
    find: "setval('tock.death_numbers', 1048576 + greatest((select s.last_value from tock.death_numbers s),",
    replace: "setval('tock.death_numbers', least((select s.last_value from tock.death_numbers s),",
    caught: [told, 'numbers of deaths that a restore set back are not given out again'],
  },
];
