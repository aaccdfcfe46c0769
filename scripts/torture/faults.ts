import { pause } from '../soak/clock.ts';
import type { Crew } from '../soak/crew.ts';
import type { Logs } from '../soak/logs.ts';
import { whileGoing } from '../soak/others.ts';
import { met } from '../soak/soak.ts';
import { type Hold, holding } from './holds.ts';
import { killing } from './kills.ts';
import { type Fault, type Link, links, type Way, ways } from './plan.ts';
import type { Torture } from './torture.ts';

/** After the last fault; a start of workerd takes a slow machine a minute of it. */
const FEEL_MS = 300_000;

/** A proxy that tears, for as long as the fault says and until it has torn something. */
async function tearing(torture: Torture, { name, holds }: Fault): Promise<number> {
  const { stack } = torture;
  const way = ways.find((one) => name.startsWith(one)) as Way;
  const link = links.find((one) => name.endsWith(one)) as Link;
  const before = stack.spoilt(link);
  const torn = () => stack.spoilt(link) - before;
  stack.tear(link, way);
  await whileGoing(torture, holds);
  while (torture.going && torn() === 0) await pause(50);
  stack.tear(link, null);
  return torn();
}

/** Again until it was felt: another fault may have ended it, or there was nobody to feel it. */
async function untilFelt(torture: Torture, fault: Fault, hold: Hold): Promise<void> {
  const { ledger } = torture;
  for (;;) {
    const felt = await hold(fault).catch((error) => {
      ledger.count(`fault ${fault.name} (cut short by ${met(ledger, fault.name, error)})`);
      return null;
    });
    if (felt) return ledger.count(`fault ${fault.name}`);
    if (felt === 0) ledger.count(`fault ${fault.name} (not felt)`);
    if (!torture.going) return;
    await pause(500);
  }
}

/**
 * Goes through the plan: what kills is waited for, what lasts goes on beside it. All of it comes, however
 * slow the machine is.
 */
export async function runFaults(
  work: Torture,
  plan: Fault[],
  crew: Crew,
  logs: Logs,
): Promise<void> {
  // The faults end before the work does.
  const torture: Torture = { ...work };
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
    // Its start takes seconds, in which other things may break too.
    if (kill && fault.name === 'kill -9 of workerd')
      lasting.push(kill(fault).then(survived, failed));
    else if (kill) await kill(fault).then(survived, failed);
    else if (fault.name.startsWith('pg_cron') && !stack.host.cron) continue;
    else {
      const hold = holds[fault.name] ?? ((one: Fault) => tearing(torture, one));
      lasting.push(untilFelt(torture, fault, hold));
    }
  }
  // What was not felt yet may still be, once workerd is back: until then a queue may stay empty, or paused.
  await Promise.race([Promise.all(lasting), pause(FEEL_MS)]);
  torture.going = false;
  await Promise.all(lasting);
}

/** Kinds of fault in the plan that never did anything to anybody: then nothing was shown of them. */
export function neverFelt(plan: Fault[], counts: Map<string, number>): string[] {
  const kindOf = (name: string) => name.replace(/ between .*| \(.*/, '');
  const idle = / \((not felt|nobody there|cut short)/;
  const felt = [...counts.keys()].filter((what) => what.startsWith('fault ') && !idle.test(what));
  const shown = new Set(felt.map((what) => kindOf(what.slice('fault '.length))));
  return [...new Set(plan.map(({ name }) => kindOf(name)))].filter((kind) => !shown.has(kind));
}
