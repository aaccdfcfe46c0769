import { withClient } from '../../stack/roles.ts';
import type { Chaos } from '../chaos.ts';
import type { Crew } from '../load/crew.ts';
import { pause } from '../random.ts';
import type { Logs } from '../server_log.ts';
import type { Effect, Fault, FaultName } from './plan.ts';

/** Returns when the server takes connections again. */
export async function answering({ stack }: Chaos): Promise<void> {
  for (;;) {
    const up = await withClient(stack.superUrl, (on) => on.query('select 1')).catch(() => null);
    if (up) return;
    await pause(50);
  }
}

const backends = `backend_type = 'client backend' and pid <> pg_backend_pid()`;
// The server's own and pg_cron's, but for the launcher, which has a fault to itself.
const background = `backend_type <> 'client backend' and backend_type <> 'pg_cron launcher'`;

/** kill -9 of one of the server's processes: it takes all of them down and recovers. */
async function killOne(chaos: Chaos, { pick }: Fault, which: string): Promise<string> {
  const text = `select pid, backend_type as kind from pg_stat_activity where ${which} order by backend_start, pid`;
  const { rows } = await withClient(chaos.stack.superUrl, (on) =>
    on.query<{ pid: number; kind: string }>(text),
  );
  const victim = rows[pick % rows.length];
  if (!victim) return '';
  chaos.journal.crashed(Date.now());
  await chaos.stack.host.kill9(victim.pid);
  chaos.journal.crashed(Date.now());
  await answering(chaos);
  return victim.kind;
}

/** kill -9 of the whole server. Each start begins its log anew, so what it holds is read before. */
export async function killServer({ stack, journal }: Chaos, logs: Logs): Promise<number> {
  await logs.read();
  journal.crashed(Date.now());
  await stack.restartServer();
  journal.crashed(Date.now());
  return 1;
}

/** The faults that kill; each resolves once its victim, or the next in its place, is at work again. */
export function killing(chaos: Chaos, crew: Crew, logs: Logs): Partial<Record<FaultName, Effect>> {
  const { stack } = chaos;
  return {
    'kill -9 of server': () => killServer(chaos, logs),
    'kill -9 of backend': (fault) => killOne(chaos, fault, backends),
    'kill -9 of background process': (fault) => killOne(chaos, fault, background),
    'kill -9 of pooler': () => stack.restartPooler().then(() => 1),
    'kill -9 of workerd': () => stack.restartWorkerd().then(() => 1),
    'kill -9 of worker': async ({ pick }) => Number(crew.kill(pick)),
  };
}
