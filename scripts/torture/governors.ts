import { pause, type Random } from '../soak/clock.ts';
import { once, patience } from './call.ts';
import type { Client, Torture } from './torture.ts';

const pausable = ['plain', 'keyed', 'three'];

/** Whoever governs queues: pauses them, and cancels, purges and reorders what is in them. */
export function governor({ facts }: Torture) {
  const pausing = async ({ call }: Client, random: Random) => {
    const queue = pausable[random(pausable.length)] as string;
    const put = (paused: boolean) =>
      call('pause', `/v1/queues/${queue}`, { method: 'PUT', body: { paused }, patience });
    const answer = await put(true);
    const told = Date.now();
    await pause(random(1000));
    const until = Date.now();
    if (answer?.status === 200) facts.paused({ queue, told, until });
    await put(false);
  };
  const acts: ((client: Client, random: Random) => Promise<unknown>)[] = [
    pausing,
    pausing,
    ({ call }) => call('purge', '/v1/queues/purged/purge', { body: {} }),
    ({ call }) =>
      call('cancel by filter', '/v1/queues/plain/cancel', { body: { tenant: 'unwanted' } }),
    ({ call }, random) =>
      call('reprioritize', '/v1/queues/plain/reprioritize', {
        body: { tenant: 'heavy', priority: 3 + random(4) },
      }),
    ({ call }) => call('run schedule', '/v1/schedules/each-second/run', { body: {}, patience: 0 }),
    ({ call }, random) =>
      call('gate', '/v1/queues/three/gates/gate-1', {
        method: 'PATCH',
        body: { gate_limit: 1 + random(3) },
      }),
  ];
  return async (client: Client, random: Random): Promise<void> => {
    await acts[random(acts.length)]?.(client, random);
    await pause(300);
  };
}

/** Makes a key, works with it, rotates and ends it; from then on nobody is let in with it. */
export function keeper({ ledger }: Torture) {
  return async ({ api, call }: Client, random: Random): Promise<void> => {
    const body = { name: 'torture', scopes: ['read'], queues: ['plain'] };
    const made = await call('make key', '/v1/keys', { body });
    if (made?.status !== 201) return pause(500);
    const { key, prefix } = made.body;
    const use = () =>
      once({ ...api, key, heard: keyHeard }, 'use key', '/v1/queues/plain', 'GET', undefined);
    const keyHeard = (verb: string, outcome: string) => ledger.count(`${verb}: ${outcome}`);
    const used = await use();
    if (used?.status === 401 || used?.status === 403)
      ledger.differ('a key was not let in', 0, `${prefix}: ${used.status}`);
    if (random(3) === 0) {
      const next = { body: { overlap_seconds: 0 }, patience };
      await call('rotate key', `/v1/keys/${prefix}/rotate`, next);
    }
    const ended = await call('end key', `/v1/keys/${prefix}`, { method: 'DELETE', patience });
    // 404: by the attempt before, of which no answer came
    if (ended?.status === 200 || ended?.status === 404) {
      const late = await use();
      if (late && late.status < 400) ledger.differ('an ended key was let in', 0, String(prefix));
    }
    await pause(500);
  };
}
