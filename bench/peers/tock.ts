import pg from 'pg';
import { payload } from '../payload.ts';
import { loops, type Options, round, serve } from './serve.ts';

await serve<Options>(async ({ url, clients, options }) => {
  const { kind, batch, bytes, queues } = options;
  const all = Array.from({ length: clients }, () => new pg.Client({ connectionString: url }));
  await Promise.all(all.map((client) => client.connect()));
  const of = (client: number) => all[client] as pg.Client;
  const tasks = Array.from({ length: batch }, () => ({ payload: JSON.parse(payload(bytes)) }));
  const next = round(queues, clients);

  async function enqueue(client: number, queue: string): Promise<number> {
    // Each call converts the batch to JSON, as a real caller must do.
    const values = [queue, JSON.stringify(tasks)];
    await of(client).query({ name: 'e', text: 'select tock.enqueue($1, $2)', values });
    return batch;
  }

  async function cycle(client: number, queue: string): Promise<number> {
    const { rows } = await of(client).query({
      name: 'c',
      text: `select lease, id, payload
        from tock.claim(p_queue => $1, p_limit => $2, p_own_transaction => true)`,
      values: [queue, batch],
    });
    const lease = rows[0]?.lease;
    if (lease === undefined) return 0;
    const text = 'select * from tock.complete($1)';
    await of(client).query({ name: 'd', text, values: [lease] });
    return rows.length;
  }

  const call = kind === 'enqueue' ? enqueue : cycle;
  return {
    turns: clients,
    run: (barrier) => loops(clients, barrier, (client) => call(client, next(client))),
  };
});
