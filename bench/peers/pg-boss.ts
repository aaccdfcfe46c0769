import { PgBoss } from 'pg-boss';
import { payload } from '../payload.ts';
import { loops, type Options, round, serve } from './serve.ts';

await serve<Options>(async ({ url, clients, options }) => {
  const { kind, batch, bytes, queues } = options;
  const boss = new PgBoss({
    connectionString: url,
    max: clients,
    supervise: false,
    schedule: false,
    migrate: false,
  });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  const known = new Set((await boss.getQueues()).map(({ name }) => name));
  for (const name of [...queues, 'warm']) if (!known.has(name)) await boss.createQueue(name);
  const data = JSON.parse(payload(bytes));
  const jobs = Array.from({ length: batch }, () => ({ data }));
  const next = round(queues, clients);

  async function enqueue(_client: number, queue: string): Promise<number> {
    if (batch === 1) await boss.send(queue, data);
    else await boss.insert(queue, jobs);
    return batch;
  }

  async function cycle(_client: number, queue: string): Promise<number> {
    const fetched = await boss.fetch(queue, { batchSize: batch });
    if (fetched.length === 0) return 0;
    const ids = fetched.map(({ id }) => id);
    await boss.complete(queue, ids);
    return fetched.length;
  }

  const call = kind === 'enqueue' ? enqueue : cycle;
  // These calls run at once, so that the pool opens all its connections.
  await Promise.all(Array.from({ length: clients }, (_, client) => call(client, 'warm')));
  return {
    turns: clients,
    run: (barrier) => loops(clients, barrier, (client) => call(client, next(client))),
  };
});
