import { withClient } from '../../stack/roles.ts';
import type { Chaos } from '../chaos.ts';
import type { Workers } from '../load/workers.ts';
import { pause } from '../random.ts';
import type { Logs } from '../server_log.ts';
import type { CauseFault, Fault, FaultName } from './plan.ts';

/** Returns when the server accepts connections again. */
export async function answering({ stack }: Chaos): Promise<void> {
  for (;;) {
    const isUp = await withClient(stack.superUrl, (client) => client.query('select 1')).catch(
      () => null,
    );
    if (isUp) return;
    await pause(50);
  }
}

const backends = `backend_type = 'client backend' and pid <> pg_backend_pid()`;
// Processes of the server and of pg_cron, except the launcher, which has its own fault.
const background = `backend_type <> 'client backend' and backend_type <> 'pg_cron launcher'`;

/** Kills one server process with kill -9. The server then stops all its processes and recovers. */
async function killProcess(chaos: Chaos, { pick }: Fault, which: string): Promise<string> {
  const text = `select pid, backend_type as kind from pg_stat_activity where ${which} order by backend_start, pid`;
  const { rows } = await withClient(chaos.stack.superUrl, (client) =>
    client.query<{ pid: number; kind: string }>(text),
  );
  const victim = rows[pick % rows.length];
  if (!victim) return '';
  chaos.journal.crashed(Date.now());
  await chaos.stack.host.kill9(victim.pid);
  chaos.journal.crashed(Date.now());
  await answering(chaos);
  return victim.kind;
}

/** Kills the whole server with kill -9. Each start begins a new log, so the old log is read first. */
export async function killServer({ stack, journal }: Chaos, logs: Logs): Promise<number> {
  await logs.read();
  journal.crashed(Date.now());
  await stack.restartServer();
  journal.crashed(Date.now());
  return 1;
}

/** The faults that kill; each resolves once the victim or its successor works again. */
export function killing(
  chaos: Chaos,
  workers: Workers,
  logs: Logs,
): Partial<Record<FaultName, CauseFault>> {
  const { stack } = chaos;
  return {
    'kill -9 of server': () => killServer(chaos, logs),
    'kill -9 of backend': (fault) => killProcess(chaos, fault, backends),
    'kill -9 of background process': (fault) => killProcess(chaos, fault, background),
    'kill -9 of pooler': () => stack.restartPooler().then(() => 1),
    'kill -9 of workerd': () => stack.restartWorkerd().then(() => 1),
    'kill -9 of worker': async ({ pick }) => Number(workers.kill(pick)),
  };
}
