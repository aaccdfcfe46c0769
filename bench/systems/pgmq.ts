import { readFileSync } from 'node:fs';
import { listed, payload } from '../payload.ts';
import type { System } from '../types.ts';

const element = (json: string) => JSON.stringify(json);

/**
 * pgmq, which is plain SQL. Its file is not part of this checkout: TOCK_PGMQ_SQL names it (pgmq-extension/sql/pgmq.sql
 * of its repository).
 */
export const pgmq: System = {
  name: 'pgmq',
  version: '1.5.1',
  settings: [
    'enqueue: pgmq.send, in batches pgmq.send_batch',
    'claim + complete: pgmq.read with 30 seconds of invisibility, then pgmq.archive by the ids: two statements',
  ],
  lacks: ['no retries with a backoff, no dead tasks, no results', 'no lanes, no priorities'],
  async prepare({ client }) {
    const file = process.env.TOCK_PGMQ_SQL;
    if (!file) throw new Error('Set TOCK_PGMQ_SQL to the path of pgmq.sql.');
    await client.query(readFileSync(file, 'utf8'));
    await client.query(`select pgmq.create('q')`);
  },
  async fill({ client }, tasks, { bytes }) {
    const text = `select count(*) from pgmq.send_batch('q', array_fill($1::jsonb, array[$2::integer]))`;
    for (let left = tasks; left > 0; left -= 5000)
      await client.query(text, [payload(bytes), Math.min(5000, left)]);
  },
  enqueue({ batch, bytes, queues }) {
    if (queues !== 1) return null;
    if (batch === 1) {
      const { set, text } = listed(1, payload(bytes), ['', '']);
      return { by: 'pgbench', script: `${set}\nselect pgmq.send('q', ${text}::jsonb);\n` };
    }
    const { set, text } = listed(batch, element(payload(bytes)), ['{', '}']);
    return { by: 'pgbench', script: `${set}\nselect pgmq.send_batch('q', ${text}::jsonb[]);\n` };
  },
  cycle({ batch, queues }) {
    if (queues !== 1) return null;
    if (batch === 1) {
      const read = `select msg_id as id, message from pgmq.read('q', 30, 1) \\aset`;
      return { by: 'pgbench', script: `${read}\nselect pgmq.archive('q', :id::bigint);\n` };
    }
    // pgbench keeps only the last row, so that row has all ids.
    const read = `with taken as materialized (select msg_id, message from pgmq.read('q', 30, ${batch}))
      select msg_id, message, null as ids from taken
      union all select null, null, coalesce(array_agg(msg_id)::text, '{}') from taken \\aset`;
    const archive = `select pgmq.archive('q', :ids::bigint[]);`;
    return { by: 'pgbench', script: `${read.replace(/\s+/g, ' ')}\n${archive}\n` };
  },
  async counts({ client }) {
    const { rows } = await client.query(
      `select (select last_value from pgmq.q_q_msg_id_seq)::float8 as enqueued,
         (select count(*) from pgmq.a_q)::float8 as finished`,
    );
    return rows[0];
  },
};
