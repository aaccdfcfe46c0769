import { nodeModule, versionOf } from '../node-work.ts';
import { listed, payload } from '../payload.ts';
import type { Shape, System, TestDatabase, Work } from '../types.ts';
import { drawn } from './random_queue.ts';
import { queueNames } from './tock.ts';

async function create(client: TestDatabase['client'], names: string[]): Promise<void> {
  const missing = 'select unnest($1::text[]) as name except select name from pgboss.queue';
  const text = `select pgboss.create_queue(name, '{"policy": "standard"}') from (${missing}) missing`;
  await client.query(text, [names]);
}

/** Inserts plain rows, as pg-boss's documentation describes for jobs from SQL. */
const inserted = (name: string, payloads: string) => `insert into pgboss.job (name, data)
  select ${name}, one from jsonb_array_elements(${payloads}::jsonb) one`;

async function fill({ client }: TestDatabase, tasks: number, shape: Shape): Promise<void> {
  const names = queueNames(shape);
  await create(client, names);
  const batch = Math.max(1, Math.min(2000, Math.ceil(tasks / names.length)));
  const text = inserted('$1::text', '$2');
  for (let done = 0, n = 0; done < tasks; done += batch, n++) {
    const payloads = Array(Math.min(batch, tasks - done)).fill(payload(shape.bytes));
    const values = [names[n % names.length], `[${payloads.join(',')}]`];
    await client.query({ name: 'fill', text, values });
  }
}

const options = (shape: Shape) => ({
  kind: 'cycle',
  batch: shape.batch,
  bytes: shape.bytes,
  queues: queueNames(shape),
  processes: 2,
});

function enqueue(shape: Shape): Work {
  const { batch, bytes } = shape;
  const { set, name } = drawn(shape);
  const more = listed(batch, payload(bytes), batch === 1 ? ['', ''] : ['[', ']']);
  const single = `insert into pgboss.job (name, data) values (${name}, ${more.text}::jsonb)`;
  const call = batch === 1 ? single : inserted(name, more.text).replaceAll('\n', ' ');
  return { by: 'pgbench', script: `${set}${more.set}\n${call};\n` };
}

export const pgBoss: System = {
  name: 'pg-boss',
  version: versionOf('pg-boss'),
  settings: [
    'enqueue: INSERT into pgboss.job, which it documents for SQL, through pgbench: cheaper than its insert()',
    'claim + complete: fetch with batchSize, without metadata, then complete by the ids, in two processes that share the connections',
    'the standard policy; queues share a table, as is its default; always in order of priority, as since 12.30 nothing turns off',
    'supervise and schedule off, so that no maintenance and no monitoring runs',
  ],
  lacks: [
    'no lease when completed by ids: it also ends what was taken back and claimed again; by attempts it would cost more',
    'what is lost comes back, and history goes, only by the maintenance that is off here',
    'no lanes: tenants wait behind each other',
  ],
  async prepare({ url, client }) {
    await nodeModule('peers/schema.ts', { url, name: 'pg-boss' });
    await create(client, ['q']);
  },
  fill,
  enqueue,
  cycle: (shape) => ({ by: 'node', module: 'peers/pg-boss.ts', options: options(shape) }),
  async counts({ client }) {
    const { rows } = await client.query(`
      select count(*)::float8 as enqueued,
        count(*) filter (where state = 'completed')::float8 as finished
      from pgboss.job`);
    return rows[0];
  },
};
