import { pause } from '../soak/clock.ts';
import type { Crew } from '../soak/crew.ts';
import type { Logs } from '../soak/logs.ts';
import { whileGoing } from '../soak/others.ts';
import { met } from '../soak/soak.ts';
import { holding } from './holds.ts';
import { killing } from './kills.ts';
import { type Fault, type Link, links, type Way, ways } from './plan.ts';
import type { Torture } from './torture.ts';

/** A proxy that tears, for as long as the fault says. */
async function tearing(torture: Torture, { name, holds }: Fault): Promise<void> {
  const way = ways.find((one) => name.startsWith(one)) as Way;
  const link = links.find((one) => name.endsWith(one)) as Link;
  torture.stack.tear(link, way);
  await whileGoing(torture, holds);
  torture.stack.tear(link, null);
}

/**
 * Goes through the plan: what kills is waited for, what lasts goes on beside it. All of it comes, however
 * slow the machine is.
 */
export async function runFaults(
  torture: Torture,
  plan: Fault[],
  crew: Crew,
  logs: Logs,
): Promise<void> {
  const { ledger, stack } = torture;
  const kills = killing(torture, crew);
  const holds = holding(torture);
  const lasting: Promise<unknown>[] = [];
  const began = performance.now();
  for (const fault of plan) {
    await pause(Math.max(0, fault.at - (performance.now() - began)));
    const survived = (what = '') => ledger.count(`fault ${fault.name}${what && ` (${what})`}`);
    // Another fault ended it.
    const failed = (error: unknown) => survived(`cut short by ${met(ledger, fault.name, error)}`);
    const kill = kills[fault.name];
    if (fault.name === 'kill -9 of server') await logs.read();
    if (kill) await kill(fault).then(survived, failed);
    else if (fault.name.startsWith('pg_cron') && !stack.host.cron) continue;
    else {
      const hold = holds[fault.name] ?? ((one: Fault) => tearing(torture, one));
      lasting.push(hold(fault).then(() => survived(), failed));
    }
  }
  torture.going = false;
  await Promise.all(lasting);
}
