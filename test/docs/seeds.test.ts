import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { cronDatabase, stackInfo } from '../database.ts';
import { client, databasePerFile, db } from '../sql/test_database.ts';
import { value } from '../sql/verbs.ts';
import { answered, hasPsql, printed, sections, sqlOf, unshown } from './page.ts';

/** The verb, option or setting that must appear in the example of each variant of the seeds. */
const variants: Record<string, RegExp> = {
  'postgres-task-queue: Basic': /\bclaim\b/,
  'postgres-task-queue: Priority': /\breprioritize\b/,
  'postgres-task-queue: Retry': /\bfail\b/,
  'postgres-task-queue: Metrics': /\bqueue_stats\b/,
  'postgres-task-queue: Hung tasks': /\breap\b/,
  'postgres-task-queue: Deletion': /\bretention_seconds\b/,
  'postgres-task-queue: Statistics': /\bseries\b/,
  'postgres-task-queue: Rerun': /\bon_conflict\b/,
  'postgres-task-queue: Pipeline': /\bpipeline\b/,
  'postgres-task-queue: Schedule': /\bput_schedule\b/,
  'db-scheduler-polling: Lock-and-fetch with watermarks': /\bclaim\b/,
  'db-scheduler-polling: One-off': /\benqueue_task\b/,
  'db-scheduler-polling: Recurring': /\bput_schedule\b/,
  'massive-task-scheduling: Per-user partitions': /\bclaim_any\b/,
  'massive-task-scheduling: Serial users': /\bconcurrency_key\b/,
  'massive-task-scheduling: Batch runs of 10,000': /\bcomplete\b/,
  'massive-task-scheduling: History': /\btasks\b/,
  'massive-task-scheduling: Rotation': /\bcreate_segments\b/,
  'massive-task-scheduling: Archive': /archive/,
  'massive-task-scheduling: Parent and subtask': /\bdepends_on\b/,
  'task-assignment: A task elects a worker': /\bassign_task\b/,
  'task-assignment: A worker takes a task': /\btake_task\b/,
  'task-assignment: Neither known beforehand': /\bassign_task\b/,
};

const path = join(checkout, 'docs/seeds.md');
const read = () => readFileSync(path, 'utf8');
const needsCron = (sql: string) => /\bcron\./.test(sql);

databasePerFile();

/** What the blocks that need pg_cron printed. They run first. */
let ofCron: (string | null)[] = [];

test('the blocks for pg_cron run where there is one', async ({ skip }) => {
  const { cron, name } = stackInfo();
  skip(!cron, `${name} has no pg_cron in the database tock_cron`);
  skip(!(await hasPsql()), 'there is no psql');
  const own = await cronDatabase();
  const blocks = sqlOf(read()).map((sql) => (needsCron(sql) ? sql : null));
  ofCron = await printed(own.url, blocks).finally(own.drop);
  expect(ofCron.join('')).toContain('tock:tick');
});

// `vitest run test/docs -u` writes new answers into the page.
test('psql prints the answers that docs/seeds.md shows', async ({ skip }) => {
  skip(!(await hasPsql()), 'there is no psql');
  const page = read();
  const blocks = sqlOf(page).map((sql) => (needsCron(sql) ? null : sql));
  const answers = await printed(db.url, blocks);
  const all = answers.map((answer, n) => answer ?? ofCron[n] ?? null);
  await expect(answered(page, all)).toMatchFileSnapshot(path);
});

test('each variant of the seeds is shown once Tock can do it', async () => {
  const known = await value<string[]>(
    client,
    `select array(
       select proname::text from pg_proc where pronamespace = 'tock'::regnamespace
       union select name from tock.extended_options() union select name from tock.queue_settings())`,
  );
  const page = read();
  expect([...sections(page).keys()]).toEqual(Object.keys(variants));
  expect(unshown(page, variants, known)).toEqual([]);
});

test('a section that says "Not yet" about an existing feature is found, and a missing section too', () => {
  const later = '## a\n### b\nNot yet.\n### c\n```sql\nselect tock.c();\n```\n';
  const shows = { 'a: b': /\bb\b/, 'a: c': /\bc\b/ };
  expect(unshown(later, shows, ['c'])).toEqual([]);
  expect(unshown(later, shows, ['b', 'c'])).toEqual(['a: b']);
  expect(unshown(later.replace('Not yet.', 'Soon.'), shows, ['c'])).toEqual(['a: b']);
  expect(unshown(later.replace('tock.c()', 'tock.d()'), shows, ['c'])).toEqual(['a: c']);
  expect(unshown('', shows, ['c'])).toEqual(['a: b', 'a: c']);
});

test('a wrong, missing or additional answer in the page is found', () => {
  const block = '```sql\nselect 1;\n```\n';
  const text = (answer: string) => `\`\`\`text\n${answer}\n\`\`\`\n`;
  const right = `${block}\n${text('1')}`;
  expect(answered(right, ['1'])).toBe(right);
  expect(answered(`${block}\n${text('2')}`, ['1'])).toBe(right);
  expect(answered(block, ['1'])).toBe(right);
  expect(answered(right, [''])).toBe(block);
  expect(answered(`${right}\n${text('3')}`, ['1'])).toBe(right);
  expect(answered(`${block}\nThat is:\n\n${text('1')}`, [''])).toBe(`${block}\nThat is:\n\n`);
  expect(answered(right + right, ['2', null])).toBe(`${block}\n${text('2')}${right}`);
});
