import { type Chaos, pauseWhileRunning } from '../chaos.ts';
import type { Workers } from '../load/workers.ts';
import { recordError } from '../observe.ts';
import { pause } from '../random.ts';
import type { Logs } from '../server_log.ts';
import { holding } from './holds.ts';
import { killing } from './kills.ts';
import {
  type CauseFault,
  type Fault,
  type Link,
  links,
  type NetworkFault,
  networkFaults,
} from './plan.ts';

/** Causes a proxy's fault for its duration. */
async function tearing(chaos: Chaos, { name, holds }: Fault): Promise<number> {
  const { stack } = chaos;
  const networkFault = networkFaults.find((candidate) =>
    name.startsWith(candidate),
  ) as NetworkFault;
  const link = links.find((candidate) => name.endsWith(candidate)) as Link;
  const countBefore = stack.spoilt(link);
  stack.tear(link, networkFault);
  await pauseWhileRunning(chaos, holds);
  stack.tear(link, null);
  return stack.spoilt(link) - countBefore;
}

/**
 * Maximum number of attempts to cause a fault. An attempt has no effect if another fault ends it early, or if no call
 * happens during it.
 */
const attempts = 200;

async function causeUntilEffect(chaos: Chaos, fault: Fault, effect: CauseFault): Promise<void> {
  const count = (how: string) => chaos.ledger.count(`fault ${fault.name}${how && ` (${how})`}`);
  for (let attempt = 0; chaos.running && attempt < attempts; attempt++) {
    if (attempt > 0) await pause(500);
    try {
      const withEffect = await effect(fault);
      if (withEffect) return count(typeof withEffect === 'string' ? withEffect : '');
      count('no effect');
    } catch (error) {
      count(`cut short by ${recordError(chaos, fault.name, error)}`);
    }
  }
}

/** Causes all faults of the plan, even if it takes longer. Kills are awaited; lasting faults run beside the others. */
export async function runFaults(
  chaos: Chaos,
  plan: Fault[],
  workers: Workers,
  logs: Logs,
  seconds: number,
): Promise<void> {
  const effects = { ...killing(chaos, workers, logs), ...holding(chaos) };
  const lasting: Promise<void>[] = [];
  const began = performance.now();
  const waitUntil = (at: number) => pause(Math.max(0, at - (performance.now() - began)));
  for (const fault of plan) {
    await waitUntil(fault.at);
    const effect = effects[fault.name] ?? ((candidate: Fault) => tearing(chaos, candidate));
    const done = causeUntilEffect(chaos, fault, effect);
    // workerd takes seconds to start, so its restart is not awaited; other faults may happen during it.
    if (fault.name.startsWith('kill') && fault.name !== 'kill -9 of workerd') await done;
    else lasting.push(done);
  }
  await waitUntil(seconds * 1000);
  await Promise.all(lasting);
}

/** The kinds of faults in the plan that never had an effect. The run proves nothing about them. */
export function withoutEffect(plan: Fault[], counts: Map<string, number>): string[] {
  const faultKind = (name: string) => name.replace(/ between .*| \(.*/, '');
  const idle = / \((no effect|cut short)/;
  const withEffect = [...counts.keys()].filter(
    (what) => what.startsWith('fault ') && !idle.test(what),
  );
  const kinds = new Set(withEffect.map((what) => faultKind(what.slice('fault '.length))));
  return [...new Set(plan.map(({ name }) => faultKind(name)))].filter((kind) => !kinds.has(kind));
}
