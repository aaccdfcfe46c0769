import type { Chaos } from '../chaos.ts';
import { type Client, call, RETRY_SECONDS } from '../drivers/driver.ts';
import type { Args } from '../drivers/spelled.ts';
import type { Verb } from '../drivers/verbs.ts';
import { pause, type Random } from '../random.ts';

const pausable = ['plain', 'keyed', 'three'];

/** Pauses queues, and cancels, purges and reorders their tasks. */
export function governor({ journal }: Chaos) {
  async function pausing(client: Client): Promise<void> {
    const { random } = client;
    const queue = pausable[random(pausable.length)] as string;
    const setPaused = (paused: boolean) => call(client, 'pause', { queue, paused }, RETRY_SECONDS);
    const answer = await setPaused(true);
    const acknowledged = Date.now();
    await pause(random(1000));
    const resumeSent = Date.now();
    if (answer?.status === 200) journal.paused({ queue, acknowledged, until: resumeSent });
    await setPaused(false);
  }
  let calls = 0;
  const actions: ((random: Random) => [Verb, Args])[] = [
    () => ['purge', { queue: 'purged' }],
    () => ['cancel by filter', { queue: 'plain', tenant: 'unwanted' }],
    (random) => ['reprioritize', { queue: 'plain', tenant: 'heavy', priority: 3 + random(4) }],
    () => ['run schedule', { schedule: 'each-second', request_id: `run ${++calls}` }],
    (random) => [
      'concurrency_key',
      { queue: 'three', concurrency_key: 'key-1', concurrency_limit: 1 + random(3) },
    ],
  ];
  return async (client: Client): Promise<void> => {
    const action = actions[client.random(actions.length + 2)];
    if (action) await call(client, ...action(client.random));
    else await pausing(client);
    await pause(300);
  };
}

/** Creates an API key, uses it, rotates it and ends it. After that Tock must refuse it. */
export function keeper({ ledger }: Chaos) {
  return async (client: Client): Promise<void> => {
    const { driver, random } = client;
    const created = await call(client, 'make key', {});
    if (created?.status !== 200) return pause(500);
    const { key, prefix } = created.body;
    const used = await driver.attempt('use key', { key });
    if (used?.status === 401 || used?.status === 403)
      ledger.differ('a key was refused', 0, `${prefix}: ${used.status}`);
    if (random(3) === 0) await call(client, 'rotate key', { prefix }, RETRY_SECONDS);
    const ended = await call(client, 'end key', { prefix }, RETRY_SECONDS);
    // A 404 means that an earlier attempt without an answer has ended the key.
    if (ended?.status === 200 || ended?.status === 404) {
      const lateUse = await driver.attempt('use key', { key });
      if (lateUse && lateUse.status < 400)
        ledger.differ('an ended key was accepted', 0, String(prefix));
    }
    await pause(500);
  };
}
