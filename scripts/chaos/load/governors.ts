import type { Chaos } from '../chaos.ts';
import { type Client, call, patience } from '../drivers/driver.ts';
import type { Args, Verb } from '../drivers/verbs.ts';
import { pause, type Random } from '../random.ts';

const pausable = ['plain', 'keyed', 'three'];

/** Pauses queues, and cancels, purges and reorders what is in them. */
export function governor({ journal }: Chaos) {
  async function pausing(client: Client): Promise<void> {
    const { random } = client;
    const queue = pausable[random(pausable.length)] as string;
    const put = (paused: boolean) => call(client, 'pause', { queue, paused }, patience);
    const answer = await put(true);
    const acknowledged = Date.now();
    await pause(random(1000));
    const until = Date.now();
    if (answer?.status === 200) journal.paused({ queue, acknowledged, until });
    await put(false);
  }
  let calls = 0;
  const acts: ((random: Random) => [Verb, Args])[] = [
    () => ['purge', { queue: 'purged' }],
    () => ['cancel by filter', { queue: 'plain', tenant: 'unwanted' }],
    (random) => ['reprioritize', { queue: 'plain', tenant: 'heavy', priority: 3 + random(4) }],
    () => ['run schedule', { schedule: 'each-second', request_id: `run ${++calls}` }],
    (random) => [
      'concurrency_key',
      { queue: 'three', concurrency_key: 'concurrency_key-1', concurrency_limit: 1 + random(3) },
    ],
  ];
  return async (client: Client): Promise<void> => {
    const act = acts[client.random(acts.length + 2)];
    if (act) await call(client, ...act(client.random));
    else await pausing(client);
    await pause(300);
  };
}

/** Makes a key, works with it, rotates and ends it; from then on it is refused. */
export function keeper({ ledger }: Chaos) {
  return async (client: Client): Promise<void> => {
    const { driver, random } = client;
    const made = await call(client, 'make key', {});
    if (made?.status !== 200) return pause(500);
    const { key, prefix } = made.body;
    const used = await driver.attempt('use key', { key });
    if (used?.status === 401 || used?.status === 403)
      ledger.differ('a key was not let in', 0, `${prefix}: ${used.status}`);
    if (random(3) === 0) await call(client, 'rotate key', { prefix }, patience);
    const ended = await call(client, 'end key', { prefix }, patience);
    // 404: an attempt before, of which no answer came, has ended it.
    if (ended?.status === 200 || ended?.status === 404) {
      const late = await driver.attempt('use key', { key });
      if (late && late.status < 400) ledger.differ('an ended key was let in', 0, String(prefix));
    }
    await pause(500);
  };
}
