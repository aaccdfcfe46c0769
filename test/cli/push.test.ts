import { expect, test } from 'vitest';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { env, connect } = transports('enqueue,read,admin');
const TOCK_PUSH_SECRET = 'm'.repeat(32);
const url = 'https://example.com/hook';

const cli = (...args: string[]) => tock(args, { env: env() });

test('a task is enqueued with headers and a push URL', async () => {
  const client = await connect();
  const queue = 'to';
  await client.query('select tock.put_queue($1, $2)', [queue, '{"push": {}}']);
  const headers = ['--header', 'traceparent=a=b', '--header', 'x='];
  const { out } = await cli('enqueue', queue, '1', ...headers, '--push-url', url);
  const { options } = JSON.parse((await cli('task', out.trim(), '--json')).out);
  expect(options).toEqual({ push_url: url, headers: { traceparent: 'a=b', x: '' } });
  const refused = await cli('enqueue', queue, '1');
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toMatch(/needs a --push-url/);
});

test('the CLI derives the same push secrets as the Worker, before and after a rotation', async () => {
  const withSecret = { ...env(), TOCK_PUSH_SECRET };
  const client = await connect();
  await client.query('select tock.put_queue($1, $2)', [
    'signed',
    JSON.stringify({ push: { url } }),
  ]);
  const first = await tock(['push-secret', 'signed'], { env: withSecret });
  expect(first.out).toMatch(/^whsec_\S{44}\n$/);
  const rotated = await tock(['push-secret', 'signed', '--rotate', '--overlap', '60'], {
    env: withSecret,
  });
  const [fresh, old] = rotated.out.split('\n');
  expect([fresh === first.out.trim(), old]).toEqual([
    false,
    expect.stringMatching(new RegExp(`^${first.out.trim().replaceAll('+', '\\+')} until 20.*Z$`)),
  ]);
  const unknown = await tock(['push-secret', 'nobody'], { env: withSecret });
  expect(unknown).toMatchObject({ code: 3, out: '' });
  const without = await tock(['push-secret', 'signed'], {
    env: { ...env(), TOCK_PUSH_SECRET: '' },
  });
  expect([without.code, without.err]).toEqual([
    2,
    expect.stringMatching(/^TOCK_PUSH_SECRET is not set/),
  ]);
  expect((await tock(['push-secret', 'signed', '--overlap', '1'], { env: withSecret })).code).toBe(
    2,
  );
});
