import { listed, payload } from '../payload.ts';
import type { Shape, System } from '../types.ts';

const claimed = (batch: number) => `with next_task as materialized (
  select id from task where status = 0 order by id limit ${batch} for update skip locked
), claimed as (
  update task set status = 1, attempt = attempt + 1, begin_time = localtimestamp, end_time = null,
    delayed_to = null, error_text = null, updated = localtimestamp
  where id = any (array(select id from next_task)) returning id, payload
)`;

const finish = (which: string) => `update task set status = 2, end_time = localtimestamp,
  delayed_to = null, error_text = null, updated = localtimestamp where ${which};\n`;

const insertOne = (text: string) => `insert into task (payload) values (${text}::jsonb);`;
const insertMany = (text: string) =>
  `insert into task (payload) select t from jsonb_array_elements(${text}::jsonb) t;`;

function cycle({ batch }: Shape): string {
  if (batch === 1) {
    return `${claimed(1)} select id, payload from claimed \\aset\n${finish('id = :id')}`;
  }
  // pgbench keeps only the last row, so that row has the ids of all tasks.
  return `${claimed(batch)} select id, payload, null as ids from claimed
  union all select null, null, coalesce(array_agg(id)::text, '{}') from claimed \\aset
${finish('id = any (:ids::bigint[])')}`;
}

/** The design of the seed postgres-task-queue, with retries and metrics. */
export const singleTable: System = {
  name: 'single table',
  version: 'our writing of the seed postgres-task-queue',
  settings: [
    'one table with retries and metrics; batches by `for update skip locked`, completed by their ids',
    'an index each for what is new, what is to be tried again and what was updated when, the first two partial',
  ],
  lacks: ['no lease: lost tasks are found by hand', 'no lanes, no priorities'],
  async prepare({ client }) {
    await client.query(`
      create table task (
        id bigint generated always as identity primary key,
        status integer not null default 0,
        attempt integer not null default 0,
        begin_time timestamp,
        end_time timestamp,
        delayed_to timestamp,
        error_text text,
        created timestamp not null default localtimestamp,
        updated timestamp not null default localtimestamp,
        payload jsonb
      );
      create index task_new on task (id) where status = 0;
      create index task_again on task (delayed_to) where status = 3;
      create index task_updated on task (updated)`);
  },
  async fill({ client }, tasks, { bytes }) {
    await client.query(
      'insert into task (payload) select $1::jsonb from generate_series(1, $2::integer)',
      [payload(bytes), tasks],
    );
  },
  enqueue({ batch, bytes }) {
    const { set, text } = listed(batch, payload(bytes), batch === 1 ? ['', ''] : ['[', ']']);
    const call = batch === 1 ? insertOne(text) : insertMany(text);
    return { by: 'pgbench', script: `${set}\n${call}\n` };
  },
  cycle: (shape) => ({ by: 'pgbench', script: cycle(shape) }),
  async counts({ client }) {
    const { rows } = await client.query(
      `select (select last_value from task_id_seq) as enqueued,
         (select count(*) from task where status = 2) as finished`,
    );
    return { enqueued: Number(rows[0].enqueued), finished: Number(rows[0].finished) };
  },
};
