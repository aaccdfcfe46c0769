import { expect, test } from 'vitest';
import { transports } from './transports.ts';

const { cli, json } = transports('admin');

const limits = ['--tenant', 'acme', '--expires-in', '7776000', '--rate', '100/60'];
const create = ['key', 'create', 'shop', '--scope', 'enqueue,read', ...limits];

test('a key is created with limits, listed, rotated and changed', async () => {
  const made = await json(...create);
  expect(made).toMatchObject({ tenants: ['acme'], rate_limit: 100, rate_seconds: 60 });
  const rotated = await cli('key', 'rotate', made.prefix, '--overlap', '3600');
  expect(rotated.out).toMatch(/^tock_[0-9a-f_]+\nThis key is shown only once: store it now.\n$/);
  const next = rotated.out.slice(0, 13);
  const { out } = await cli('key', 'list');
  expect(out.split('\n')[0]).toMatch(
    /^prefix +name +scopes +queues +tenants +rate +created +last used +expires +revoked +replaced by$/,
  );
  expect(out).toContain(`${made.prefix}  shop  enqueue,read  all     acme     100/60`);
  expect(out).toMatch(new RegExp(`${made.prefix} .* ${next}\\n`));

  const changes = ['--name', 'web', '--rate', 'none', '--expires-in', 'never'];
  const changed = await json('key', 'change', next, ...changes);
  expect(changed).toMatchObject({ name: 'web', rate_limit: null, expires_at: null });
});

test('mistakes with keys are refused with their exit codes', async () => {
  const { prefix } = await json(...create);
  await cli('key', 'rotate', prefix);
  for (const [args, code, expected] of [
    [['key', 'rotate', prefix], 1, /this key has been replaced by tock_/],
    [
      ['key', 'revoke', 'tock_00000000'],
      3,
      /^There is no key .* tock_00000000\.\nSee: tock key list/,
    ],
    [['key', 'change', 'tock_00000000', '--name', 'x'], 3, /^There is no key/],
    [['key', 'change', prefix], 2, /^Give at least one of --name/],
    [['key', 'create', 'x', '--scope', 'read', '--rate', 'fast'], 2, /such as 100\/60/],
    [['key', 'create', 'x', '--scope', 'claim', '--tenant', 'a'], 2, /scopes enqueue and read/],
  ] as const) {
    const refused = await cli(...args);
    expect(refused, args.join(' ')).toMatchObject({ code, err: expect.stringMatching(expected) });
  }
});

test('the audit log is listed newest first, filtered by verb or object', async () => {
  const { prefix } = await json(...create);
  expect((await cli('key', 'revoke', prefix)).out).toBe(`Revoked ${prefix}.\n`);
  const { out } = await cli('audit-log', '--object', prefix);
  const [heading, first, second] = out.split('\n');
  expect(heading).toMatch(/^number +at +who +verb +object/);
  expect(first).toMatch(new RegExp(`(tock|tock_[0-9a-f]+ \\(all\\)) +revoke_key +${prefix} +{}$`));
  expect(second).toMatch(/create_key .*"tenants":\["acme"\]/);
  const entries = await json('audit-log', '--verb', 'revoke_key', '--limit', '1');
  expect(entries).toMatchObject([{ verb: 'revoke_key', object: prefix }]);
  expect(await json('audit-log', '--by', 'tock_ffffffff')).toEqual([]);
  const older = await json('audit-log', '--object', prefix, '--before', entries[0].number);
  expect(older).toMatchObject([{ verb: 'create_key' }]);
});
