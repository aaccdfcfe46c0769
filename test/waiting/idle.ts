import { vi } from 'vitest';
import { conditionTimeout } from '../timeout.ts';

/** Waits until calls have looked, and none has looked again for a while: now they wait for a change. */
export async function idle(looks: () => number): Promise<void> {
  let before = 0;
  const isIdle = () => {
    const now = looks();
    const same = now === before && now > 0;
    before = now;
    return same;
  };
  await vi.waitUntil(isIdle, { timeout: conditionTimeout, interval: 700 });
}
