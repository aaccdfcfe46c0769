import { nodeModule, versionOf } from '../node-work.ts';
import { listed, payload } from '../payload.ts';
import type { Shape, System, TestDatabase, Work } from '../types.ts';
import { drawn } from './random_queue.ts';
import { queueNames } from './tock.ts';

/** Adds jobs. Their payloads are a JSON array as text, which the call parses. */
const added = (name: string, payloads: string) => `select count(id)
  from graphile_worker.add_jobs(array(
    select (${name}, one, null, null, null, null, null, null)::graphile_worker.job_spec
    from json_array_elements(${payloads}::json) one))`;

function enqueue(shape: Shape): Work {
  const { batch, bytes } = shape;
  const { set, name } = drawn(shape);
  const more = listed(batch, payload(bytes), batch === 1 ? ['', ''] : ['[', ']']);
  const single = `select id from graphile_worker.add_job(${name}, ${more.text}::json)`;
  const call = batch === 1 ? single : added(name, more.text).replaceAll('\n', ' ');
  return { by: 'pgbench', script: `${set}${more.set}\n${call};\n` };
}

async function fill({ client }: TestDatabase, tasks: number, shape: Shape): Promise<void> {
  const names = queueNames(shape);
  const batch = Math.max(1, Math.min(2000, Math.ceil(tasks / names.length)));
  const text = added('$1::text', '$2');
  for (let done = 0, n = 0; done < tasks; done += batch, n++) {
    const payloads = Array(Math.min(batch, tasks - done)).fill(payload(shape.bytes));
    const values = [names[n % names.length], `[${payloads.join(',')}]`];
    await client.query({ name: 'fill', text, values });
  }
}

/** The fastest settings among those that graphile-worker's performance page recommends. */
function tuned(batch: number) {
  if (batch === 1) return { processes: 2, runners: 1, size: -1, delay: -1 };
  return { processes: 2, runners: 1, concurrency: 24, size: batch, delay: 0 };
}

export const graphileWorker: System = {
  name: 'graphile-worker',
  version: versionOf('graphile-worker'),
  settings: [
    'enqueue: add_job, in batches add_jobs, the SQL functions it documents, through pgbench',
    'claim + complete: its own runner in two processes, its task reads the payload and does nothing',
    'at 1 a call as many jobs at a time as connections, no local queue, no batches; one connection more listens',
    'in batches as its performance page has it: 24 jobs at a time, completeJobBatchDelay and failJobBatchDelay 0, and localQueue.size is the batch',
    'prepared statements on and no refetchDelay, which only helps when there is little to do',
  ],
  lacks: [
    'no history: a finished job is deleted',
    'no lease: what a lost worker held waits for four hours',
    'no lanes: tenants wait behind each other',
  ],
  prepare: ({ url }) => nodeModule('peers/schema.ts', { url, name: 'graphile-worker' }),
  fill,
  enqueue,
  cycle: (shape) => ({
    by: 'node',
    module: 'peers/graphile-worker.ts',
    options: { queues: queueNames(shape), ...tuned(shape.batch) },
  }),
  async counts({ client }) {
    const { rows } = await client.query(`
      select coalesce(pg_sequence_last_value(
          pg_get_serial_sequence('graphile_worker._private_jobs', 'id')::regclass), 0)::float8
          as enqueued,
        (select count(*) from graphile_worker._private_jobs)::float8 as "left"`);
    const { enqueued, left } = rows[0];
    return { enqueued, finished: enqueued - left };
  },
};
