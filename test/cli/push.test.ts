import { expect, test } from 'vitest';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { cli, env, connect } = transports('enqueue,read,admin');
const TOCK_PUSH_SECRET = 'm'.repeat(32);
const url = 'https://example.com/hook';

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
  const push = JSON.stringify({ push: { url } });
  await client.query('select tock.put_queue($1, $2)', ['signed', push]);
  const secret = (args: string[], env: NodeJS.ProcessEnv = withSecret) =>
    tock(['push-secret', ...args], { env });
  const first = await secret(['signed']);
  expect(first.out).toMatch(/^whsec_\S{44}\n$/);
  const rotated = await secret(['signed', '--rotate', '--overlap', '60']);
  const [fresh, old = ''] = rotated.out.split('\n');
  expect(fresh).not.toBe(first.out.trim());
  expect(old.replace(first.out.trim(), 'FIRST')).toMatch(/^FIRST until 20.*Z$/);
  expect(await secret(['nobody'])).toMatchObject({ code: 3, out: '' });
  const without = await secret(['signed'], { ...env(), TOCK_PUSH_SECRET: '' });
  expect([without.code, without.err.slice(0, 27)]).toEqual([2, 'TOCK_PUSH_SECRET is not set']);
  expect((await secret(['signed', '--overlap', '1'])).code).toBe(2);
});
