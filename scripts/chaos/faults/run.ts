import { type Chaos, whileGoing } from '../chaos.ts';
import type { Crew } from '../load/crew.ts';
import { met } from '../observe.ts';
import { pause } from '../random.ts';
import type { Logs } from '../server_log.ts';
import { type Hold, holding } from './holds.ts';
import { killing } from './kills.ts';
import { type Fault, type Link, links, type Way, ways } from './plan.ts';

/** A proxy that tears, for as long as the fault says and until it has torn something. */
async function tearing(chaos: Chaos, { name, holds }: Fault): Promise<number> {
  const { stack } = chaos;
  const way = ways.find((one) => name.startsWith(one)) as Way;
  const link = links.find((one) => name.endsWith(one)) as Link;
  const before = stack.spoilt(link);
  const torn = () => stack.spoilt(link) - before;
  stack.tear(link, way);
  await whileGoing(chaos, holds);
  while (chaos.going && torn() === 0) await pause(50);
  stack.tear(link, null);
  return torn();
}

/** Repeats a fault until it had an effect: another fault may have ended it, or no call met it. */
async function untilFelt(chaos: Chaos, fault: Fault, hold: Hold): Promise<void> {
  const { ledger } = chaos;
  for (;;) {
    const felt = await hold(fault).catch((error) => {
      ledger.count(`fault ${fault.name} (cut short by ${met(chaos, fault.name, error)})`);
      return null;
    });
    if (felt) return ledger.count(`fault ${fault.name}`);
    if (felt === 0) ledger.count(`fault ${fault.name} (not felt)`);
    if (!chaos.going) return;
    await pause(500);
  }
}

/**
 * Goes through the plan: what kills is waited for, what lasts goes on beside it. All of it comes, however
 * slow the machine is.
 */
export async function runFaults(
  work: Chaos,
  plan: Fault[],
  crew: Crew,
  logs: Logs,
  seconds: number,
): Promise<void> {
  // The faults end before the work does.
  const chaos: Chaos = { ...work };
  const { ledger, stack } = chaos;
  const kills = killing(chaos, crew);
  const holds = holding(chaos);
  const lasting: Promise<unknown>[] = [];
  const began = performance.now();
  for (const fault of plan) {
    await pause(Math.max(0, fault.at - (performance.now() - began)));
    const survived = (what = '') => ledger.count(`fault ${fault.name}${what && ` (${what})`}`);
    // Another fault ended it.
    const failed = (error: unknown) => survived(`cut short by ${met(chaos, fault.name, error)}`);
    const kill = kills[fault.name];
    if (fault.name === 'kill -9 of server') await logs.read();
    // Its start takes seconds, in which other things may break too.
    if (kill && fault.name === 'kill -9 of workerd')
      lasting.push(kill(fault).then(survived, failed));
    else if (kill) await kill(fault).then(survived, failed);
    else if (fault.name.startsWith('pg_cron') && !stack.host.cron) continue;
    else {
      const hold = holds[fault.name] ?? ((one: Fault) => tearing(chaos, one));
      lasting.push(untilFelt(chaos, fault, hold));
    }
  }
  await pause(Math.max(0, seconds * 1000 - (performance.now() - began)));
  // What was not felt yet may still be.
  await Promise.race([Promise.all(lasting), pause(180_000)]);
  chaos.going = false;
  await Promise.all(lasting);
}

/** Kinds of fault in the plan that never had an effect: the run has shown nothing about them. */
export function neverFelt(plan: Fault[], counts: Map<string, number>): string[] {
  const kindOf = (name: string) => name.replace(/ between .*| \(.*/, '');
  const idle = / \((not felt|nobody there|cut short)/;
  const felt = [...counts.keys()].filter((what) => what.startsWith('fault ') && !idle.test(what));
  const shown = new Set(felt.map((what) => kindOf(what.slice('fault '.length))));
  return [...new Set(plan.map(({ name }) => kindOf(name)))].filter((kind) => !shown.has(kind));
}
