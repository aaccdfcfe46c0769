import { expect, test } from 'vitest';
import { putQueue } from '../sql/features/queue_limits/limits.ts';
import { claim, enqueue } from '../sql/verbs.ts';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { env, connect } = transports('read,admin');

const cli = (args: string[]) => tock(args, { env: env() });

test('limits are shown, of all queues or one, and reset', async () => {
  const client = await connect();
  const [few, slow] = ['few', 'slow'];
  await putQueue(client, few, { max_running: 5 });
  await putQueue(client, slow, { rate_limit: 4, rate_seconds: 86_400 });
  await enqueue(client, few, [{}, {}]);
  await enqueue(client, slow, [{}, {}, {}]);
  await claim(client, few, { limit: 2 });
  await claim(client, slow, { limit: 3 });
  const all = await cli(['limits']);
  expect(all).toMatchObject({ code: 0, err: '' });
  expect(all.out).toMatch(new RegExp(`^${few} +2 +5 +- +- +- +-$`, 'm'));
  expect(all.out).toMatch(new RegExp(`^${slow} +- +- +4 +24 h +4 +1$`, 'm'));
  const single = await cli(['limits', slow, '--json']);
  const { limits } = JSON.parse(single.out);
  expect(limits).toMatchObject([{ queue: slow, running: null, rate_limit: 4, rate_burst: 4 }]);
  expect(limits[0].level).toBeGreaterThanOrEqual(1);
  const reset = await cli(['limits', slow, '--reset']);
  expect(reset.out).toMatch(new RegExp(`^${slow} .* 4 +4$`, 'm'));
  for (const more of [[], ['--reset']]) {
    const unknown = await cli(['limits', 'nobody', ...more]);
    expect(unknown).toMatchObject({ code: 3, out: '' });
    expect(unknown.err).toMatch(/^There is no queue nobody with limits\./);
  }
  expect(await cli(['limits', '--reset'])).toMatchObject({ code: 2, out: '' });
});
