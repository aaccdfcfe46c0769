import { withClient } from '../stack/roles.ts';
import { dice, pause } from './clock.ts';
import type { Crew } from './crew.ts';
import type { Logs } from './logs.ts';
import { met, type Soak } from './soak.ts';

/** kill -9 of the server, of a backend, of the pooler and of workers, all in each round. */
export async function startFaults(soak: Soak, crew: Crew, logs: Logs, seed: number): Promise<void> {
  const { ledger, stack, roundSeconds } = soak;
  const random = dice(seed);

  async function answering(): Promise<void> {
    for (;;) {
      const up = await withClient(stack.superUrl, (on) => on.query('select 1')).catch(() => null);
      if (up) return;
      await pause(50);
    }
  }
  async function killBackend(): Promise<void> {
    const pids = await withClient(stack.superUrl, async (on) => {
      const { rows } = await on.query<{ pid: number }>(
        `select pid from pg_stat_activity where pid <> pg_backend_pid()
         and (backend_type = 'client backend' or backend_type like 'pg_cron%')
         and backend_type <> 'pg_cron launcher'`,
      );
      return rows.map((row) => row.pid);
    });
    const pid = pids[random(pids.length)];
    if (pid === undefined) return;
    await stack.host.kill9(pid);
    ledger.count('kill -9 of a backend');
    await answering();
  }
  const faults: (() => Promise<unknown>)[] = [
    async () => {
      await logs.read();
      const began = performance.now();
      await stack.restartServer();
      ledger.count('milliseconds of restarting', Math.round(performance.now() - began));
      ledger.count('kill -9 of the server');
    },
    killBackend,
    async () => {
      if (await stack.restartPooler()) ledger.count('kill -9 of the pooler');
    },
    ...[0, 1].map((one) => async () => {
      crew.kill(random(100) + one);
      ledger.count('kill -9 of a worker');
    }),
  ];

  while (soak.going) {
    const order = faults.toSorted(() => random(3) - 1);
    for (const fault of order) {
      for (let waits = 0; soak.going && waits < 50; waits++) {
        await pause((roundSeconds * 20) / faults.length);
      }
      if (!soak.going) return;
      await fault().catch((error) => met(ledger, 'fault', error));
    }
    ledger.count('rounds of faults');
  }
}
