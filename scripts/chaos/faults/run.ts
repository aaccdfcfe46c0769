import { type Chaos, whileGoing } from '../chaos.ts';
import type { Crew } from '../load/crew.ts';
import { met } from '../observe.ts';
import { pause } from '../random.ts';
import type { Logs } from '../server_log.ts';
import { holding } from './holds.ts';
import { killing } from './kills.ts';
import { type Effect, type Fault, type Link, links, type Way, ways } from './plan.ts';

/** A proxy that tears for as long as the fault lasts. */
async function tearing(chaos: Chaos, { name, holds }: Fault): Promise<number> {
  const { stack } = chaos;
  const way = ways.find((one) => name.startsWith(one)) as Way;
  const link = links.find((one) => name.endsWith(one)) as Link;
  const before = stack.spoilt(link);
  stack.tear(link, way);
  await whileGoing(chaos, holds);
  stack.tear(link, null);
  return stack.spoilt(link) - before;
}

/** Another fault may cut one short, or no call may meet it: it comes again until it had an effect, so many times. */
const attempts = 200;

async function untilFelt(chaos: Chaos, fault: Fault, effect: Effect): Promise<void> {
  const count = (how: string) => chaos.ledger.count(`fault ${fault.name}${how && ` (${how})`}`);
  for (let attempt = 0; chaos.going && attempt < attempts; attempt++) {
    if (attempt > 0) await pause(500);
    try {
      const felt = await effect(fault);
      if (felt) return count(typeof felt === 'string' ? felt : '');
      count('not felt');
    } catch (error) {
      count(`cut short by ${met(chaos, fault.name, error)}`);
    }
  }
}

/** Goes through the plan, however long that takes: a kill is waited for, and what lasts goes on beside the others. */
export async function runFaults(
  chaos: Chaos,
  plan: Fault[],
  crew: Crew,
  logs: Logs,
  seconds: number,
): Promise<void> {
  const effects = { ...killing(chaos, crew, logs), ...holding(chaos) };
  const lasting: Promise<void>[] = [];
  const began = performance.now();
  const until = (at: number) => pause(Math.max(0, at - (performance.now() - began)));
  for (const fault of plan) {
    await until(fault.at);
    const effect = effects[fault.name] ?? ((one: Fault) => tearing(chaos, one));
    const felt = untilFelt(chaos, fault, effect);
    // The start of workerd takes seconds, in which other things may break too.
    if (fault.name.startsWith('kill') && fault.name !== 'kill -9 of workerd') await felt;
    else lasting.push(felt);
  }
  await until(seconds * 1000);
  await Promise.all(lasting);
}

/** Kinds of fault in the plan that never had an effect: the run has shown nothing about them. */
export function neverFelt(plan: Fault[], counts: Map<string, number>): string[] {
  const kindOf = (name: string) => name.replace(/ between .*| \(.*/, '');
  const idle = / \((not felt|cut short)/;
  const felt = [...counts.keys()].filter((what) => what.startsWith('fault ') && !idle.test(what));
  const shown = new Set(felt.map((what) => kindOf(what.slice('fault '.length))));
  return [...new Set(plan.map(({ name }) => kindOf(name)))].filter((kind) => !shown.has(kind));
}
