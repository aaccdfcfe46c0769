import { payload } from '../payload.ts';
import type { System } from '../types.ts';

const rows = 100_000;

/** The cost of inserting and updating rows in PostgreSQL itself, without any queue. */
export const floor: System = {
  name: 'floor',
  version: 'PostgreSQL itself',
  settings: [
    'enqueue: a bare INSERT of so many rows with a bigint key and a payload of jsonb, parsed once and for all',
    'claim + complete: one UPDATE by primary key of so many rows, returning their payloads',
  ],
  lacks: ['no queue'],
  async prepare({ client }) {
    await client.query(`
      create sequence ids;
      create table rows (id bigint primary key default nextval('ids'), payload jsonb);
      create table targets (id bigint primary key, updates integer not null default 0, payload jsonb)
        with (fillfactor = 50)`);
    await client.query(
      'insert into targets (id, payload) select n, $1 from generate_series(1, $2::integer) n',
      [payload(100), rows],
    );
  },
  /** Adds rows. The updates always change the same other rows. */
  async fill({ client }, tasks, { bytes }) {
    const text = 'insert into rows (payload) select $1 from generate_series(1, $2::integer)';
    await client.query(text, [payload(bytes), Math.ceil(tasks)]);
  },
  enqueue({ batch, bytes }) {
    const from = batch === 1 ? '' : ` from generate_series(1, ${batch})`;
    const script = `insert into rows (payload) select '${payload(bytes)}'::jsonb${from};\n`;
    return { by: 'pgbench', script };
  },
  cycle({ batch }) {
    const range = `id > :part * ${batch} and id <= (:part + 1) * ${batch}`;
    const which = batch === 1 ? 'id = :part + 1' : range.replaceAll(':part', ':part::bigint');
    return {
      by: 'pgbench',
      script: `\\set part random(0, ${Math.floor(rows / batch) - 1})
update targets set updates = updates + 1 where ${which} returning id, payload;\n`,
    };
  },
  async counts({ client }) {
    const { rows: numbers } = await client.query(
      `select (select last_value from ids) as enqueued,
         (select coalesce(sum(updates), 0) from targets) as finished`,
    );
    const [{ enqueued, finished }] = numbers;
    // The floor cannot run out of tasks.
    return { enqueued: Number(enqueued) + 1e12, finished: Number(finished) };
  },
};
