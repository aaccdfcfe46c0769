import { readFileSync } from 'node:fs';
import { versionOf } from '../node-work.ts';
import { listed, payload } from '../payload.ts';
import type { System } from '../types.ts';
import { stepNames } from './tock.ts';

const state = listed(1, payload(100), ['', '']);

/**
 * absurd, which has steps. Its SQL is not part of this checkout: TOCK_ABSURD_SQL names it (sql/absurd.sql of its
 * repository).
 */
export const absurd: System = {
  name: 'absurd',
  version: versionOf('absurd'),
  settings: [
    'enqueue: absurd.spawn_task',
    'claim + complete: absurd.claim_task with 60 seconds, then absurd.complete_run: two statements',
    'a flow: claim_task, get_task_checkpoint_states, set_task_checkpoint_state for each step with 100 bytes of JSON, complete_run; its client, absurd-sdk in two processes, also looks for the checkpoint before each step',
    'a queue that is not partitioned, as is its default',
  ],
  lacks: ['no batches of steps', 'no lanes, no priorities'],
  async prepare({ client }) {
    const file = process.env.TOCK_ABSURD_SQL;
    if (!file) throw new Error('Set TOCK_ABSURD_SQL to the path of absurd.sql.');
    await client.query(readFileSync(file, 'utf8'));
    await client.query(`select absurd.create_queue('q')`);
  },
  async fill({ client }, tasks, { bytes }) {
    const text = `select count(*) from generate_series(1, $2::integer) n
      cross join lateral absurd.spawn_task('q', 'flow', jsonb_set($1::jsonb, '{user}', to_jsonb(n)))`;
    for (let left = tasks; left > 0; left -= 5000)
      await client.query(text, [payload(bytes), Math.min(5000, left)]);
  },
  enqueue({ batch, bytes, queues }) {
    if (batch !== 1 || queues !== 1) return null;
    const { set, text } = listed(1, payload(bytes), ['', '']);
    const call = `select task_id from absurd.spawn_task('q', 'flow', ${text}::jsonb);`;
    return { by: 'pgbench', script: `${set}\n${call}\n` };
  },
  cycle: ({ batch, queues }) =>
    batch === 1 && queues === 1 ? (absurd.flow?.(0, 'sql') ?? null) : null,
  flow(steps, by) {
    if (by === 'client')
      return { by: 'node', module: 'peers/absurd_flow.ts', options: { steps, processes: 2 } };
    const claim = `select task_id, run_id, params from absurd.claim_task('q', 'w', 60, 1) \\aset`;
    const read = `select * from absurd.get_task_checkpoint_states('q', :task_id::uuid, :run_id::uuid);`;
    const save = (name: string) =>
      `select absurd.set_task_checkpoint_state('q', :task_id::uuid, '${name}', ${state.text}::jsonb, :run_id::uuid, 60);`;
    const script = [
      state.set,
      claim,
      ...(steps > 0 ? [read] : []),
      ...stepNames(steps).map(save),
      `select absurd.complete_run('q', :run_id::uuid, null);`,
    ];
    return { by: 'pgbench', script: `${script.join('\n')}\n` };
  },
  async counts({ client }) {
    const { rows } = await client.query(`
      select count(*)::float8 as enqueued,
        count(*) filter (where state = 'completed')::float8 as finished
      from absurd.t_q`);
    return rows[0];
  },
};
