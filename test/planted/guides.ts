import type { Bug } from './bugs.ts';

const moving: Pick<Bug, 'file'> = { file: 'docs/moving-in.md' };
const of = (name: string): Pick<Bug, 'caught'> => ({ caught: ['docs/moving-in.test.ts', name] });
const boss = of(
  'jobs of pg-boss become tasks, but for those that are at work, over or wait for others',
);
const graphile = of(
  'jobs of graphile-worker become tasks with their gates and keys, but for those that are locked or used up',
);
const pgmq = of(
  'messages of pgmq become tasks, delayed ones too, but for those that are being read',
);
const deploying: Pick<Bug, 'file'> = { file: 'docs/deploy.md' };
const inPage = (name: string): Pick<Bug, 'caught'> => ({ caught: ['bench/page.test.ts', name] });

/** What the guides would have people do wrongly, and what the page of a bench run would hide. */
export const guides: Bug[] = [
  {
    ...moving,
    ...boss,
    name: 'a job of pg-boss that others wait for is moved',
    find: 'not blocked and not blocking',
    replace: 'not blocked',
  },
  {
    ...moving,
    ...boss,
    name: 'what a job of pg-boss has tried is forgotten',
    find: 'retry_limit - retry_count + 1',
    replace: 'retry_limit + 1',
  },
  {
    ...moving,
    ...graphile,
    name: 'the priority of graphile-worker is turned round',
    find: '5 + m.priority',
    replace: '5 - m.priority',
  },
  {
    ...moving,
    ...graphile,
    name: 'a job of graphile-worker whose queue is at work is moved',
    find: 'q.id = j.job_queue_id and q.locked_at is not null',
    replace: 'false',
  },
  {
    ...moving,
    ...pgmq,
    name: 'a message of pgmq that is delayed stays behind',
    find: 'vt <= clock_timestamp() or read_ct = 0',
    replace: 'vt <= clock_timestamp()',
  },
  {
    ...deploying,
    name: 'a guide has a command that there is not',
    find: 'npm run tock -- status',
    replace: 'npm run tock -- state',
    caught: [
      'docs/deploy.test.ts',
      'each command of tock that is named is there, with its options',
    ],
  },
  {
    ...deploying,
    name: 'a guide has a route that there is not',
    find: '`POST /v1/tick`',
    replace: '`POST /v1/ticks`',
    caught: [
      'docs/deploy.test.ts',
      'each script of npm, route, variable, verb and file that is named is there',
    ],
  },
  {
    ...deploying,
    name: 'a guide lets Hyperdrive have another name',
    find: 'binding = "HYPERDRIVE"',
    replace: 'binding = "DATABASE"',
    caught: [
      'docs/deploy.test.ts',
      'what is to be put into wrangler.toml stands there to be switched on',
    ],
  },
  {
    ...inPage(
      'the page says where Tock is worse before it says where it is better, costs turned round',
    ),
    name: 'a page calls a high cost good',
    file: 'bench/page/compared.ts',
    find: 'moreIsBetter(one.unit) ? part : 1 / part',
    replace: 'part',
  },
  {
    ...inPage('the page of a run holds each of its figures'),
    name: 'a page takes a note for markup',
    file: 'bench/page/html.ts',
    find: '[&<>',
    replace: '[&>',
  },
];
