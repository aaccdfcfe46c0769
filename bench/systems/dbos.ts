import { nodeModule, versionOf } from '../node-work.ts';
import type { System } from '../types.ts';

/** DBOS, which has steps, and no queue between a caller and its workflow here. Only its client can call it. */
export const dbos: System = {
  name: 'dbos',
  version: versionOf('dbos'),
  settings: [
    'a flow: a workflow called in its own process, in two processes, with runStep for each step, which returns 100 bytes of JSON',
    'its start is in the figure and nothing is enqueued or claimed, because its queues look for work once a second',
    'logLevel error, no admin server',
  ],
  lacks: ['no queue in this figure', 'no claim by other processes while its own lives'],
  prepare: ({ url }) => nodeModule('peers/schema.ts', { url, name: 'dbos' }),
  fill: async () => {},
  enqueue: () => null,
  cycle: () => null,
  flow: (steps, by) =>
    by === 'sql'
      ? null
      : { by: 'node', module: 'peers/dbos_flow.ts', options: { steps, processes: 2 } },
  async counts({ client }) {
    const { rows } = await client.query(
      `select count(*)::float8 as finished from dbos.workflow_status where status = 'SUCCESS'`,
    );
    // It cannot run out of tasks.
    return { enqueued: rows[0].finished + 1e12, finished: rows[0].finished };
  },
};
