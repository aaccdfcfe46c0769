import { withClient } from '../../stack/roles.ts';
import type { Chaos } from '../chaos.ts';
import type { Crew } from '../load/crew.ts';
import { pause } from '../random.ts';
import type { Fault, FaultName } from './plan.ts';

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
  const there = () =>
    withClient(chaos.stack.superUrl, (on) => on.query<{ pid: number; kind: string }>(text));
  let { rows } = await there();
  // Such a process comes within moments.
  for (let tries = 0; rows.length === 0 && tries < 100; tries++) {
    await pause(50);
    ({ rows } = await there());
  }
  const victim = rows[pick % rows.length];
  if (!victim) return 'nobody there';
  chaos.journal.crashed(Date.now());
  await chaos.stack.host.kill9(victim.pid);
  chaos.journal.crashed(Date.now());
  await answering(chaos);
  return victim.kind;
}

/** The faults that kill; each resolves once its victim, or the next in its place, is at work again. */
export function killing(
  chaos: Chaos,
  crew: Crew,
): Partial<Record<FaultName, (fault: Fault) => Promise<string | undefined>>> {
  const { stack, journal } = chaos;
  return {
    'kill -9 of server': async () => {
      journal.crashed(Date.now());
      await stack.restartServer();
      journal.crashed(Date.now());
      return undefined;
    },
    'kill -9 of backend': (fault) => killOne(chaos, fault, backends),
    'kill -9 of background process': (fault) => killOne(chaos, fault, background),
    'kill -9 of pooler': async () => {
      await stack.restartPooler();
      return undefined;
    },
    'kill -9 of workerd': async () => {
      await stack.restartWorkerd();
      return undefined;
    },
    'kill -9 of worker': async ({ pick }) => {
      crew.kill(pick);
      return undefined;
    },
  };
}
