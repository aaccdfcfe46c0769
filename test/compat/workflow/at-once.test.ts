import { expect, test } from 'vitest';
import type { CallTock } from '../../../functions/compat/adapter.ts';
import type { Handler } from '../../../functions/compat/qstash/call.ts';
import { listLogs } from '../../../functions/compat/workflow/logs.ts';
import { cancelRuns } from '../../../functions/compat/workflow/runs.ts';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

/** The most calls of Tock, each with a connection, that a call makes at once. */
async function mostAtOnce(handler: Handler): Promise<number> {
  let [now, most] = [0, 0];
  const tock: CallTock = async (method, path, body) => {
    now++;
    most = Math.max(most, now);
    return world.tock.send(`${method} ${path}`, { body }).finally(() => now--);
  };
  const call = { tock, env: {}, headers: new Headers(), bytes: async () => new Uint8Array() };
  await handler({ ...call, query: new URLSearchParams({ count: '10' }) });
  return most;
}

test('a call about many runs takes no more connections than one about a single run', async () => {
  const url = await serveAt('/wide', async (context) => {
    const naps = Array.from({ length: 12 }, (_, n) => context.sleep(`nap ${n}`, 60));
    await Promise.all(naps);
  });
  await client.trigger([{ url }, { url }, { url }]);
  await world.deliver();
  expect(await mostAtOnce(listLogs)).toBe(10);
  expect(await mostAtOnce(cancelRuns)).toBe(10);
});
