import { expect, test } from 'vitest';
import { type Generation, secretsOf, signatureHeaders } from '../../functions/push/secret.ts';
import { verify } from './receiver.ts';

const master = (letter: string) => letter.repeat(32);
const of = (generation: number, previous_until: string | null = null, queue = 'q'): Generation => ({
  queue,
  generation,
  previous_until,
});
const soon = () => new Date(Date.now() + 60_000).toISOString();
const secrets = (text: string, generation: Generation) =>
  secretsOf({ TOCK_PUSH_SECRET: text }, generation);
const sent = (headers: Record<string, string>, body = '{"a":1}') => ({
  path: '/',
  headers,
  body,
  at: 0,
});

test('each queue, generation and master secret gives another secret, the same each time', async () => {
  const all = await Promise.all([
    secrets(master('a'), of(1)),
    secrets(master('a'), of(2)),
    secrets(master('a'), of(1, null, 'other')),
    secrets(master('b'), of(1)),
  ]);
  const first = all.map(({ current }) => current[0]);
  expect(new Set(first).size).toBe(4);
  for (const secret of first) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await secrets(master('a'), of(1))).toEqual(all[0]);
});

test("during a rotation's overlap both secrets are valid, then only the new one", async () => {
  const [old] = (await secrets(master('a'), of(1))).current as [string];
  const [fresh] = (await secrets(master('a'), of(2))).current as [string];
  const during = sent(signatureHeaders(await secrets(master('a'), of(2, soon())), '1', '{"a":1}'));
  for (const secret of [old, fresh]) expect(verify(secret, during)).toEqual({ a: 1 });
  const past = new Date(Date.now() - 1).toISOString();
  const after = sent(signatureHeaders(await secrets(master('a'), of(2, past)), '1', '{"a":1}'));
  expect(verify(fresh, after)).toEqual({ a: 1 });
  expect(() => verify(old, after)).toThrow('No matching signature');
});

test('with two master secrets the secrets of both are valid', async () => {
  const [old] = (await secrets(master('a'), of(1))).current as [string];
  const both = await secrets(`${master('b')} ${master('a')}`, of(1));
  expect(both.current[0]).toBe((await secrets(master('b'), of(1))).current[0]);
  const got = sent(signatureHeaders(both, '1', '{"a":1}'));
  for (const secret of [old, both.current[0] as string])
    expect(verify(secret, got)).toEqual({ a: 1 });
});

test('a short master secret is refused', async () => {
  const error = await secrets('short', of(1)).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'TK503', message: expect.stringContaining('shorter') });
  expect(error.message).not.toContain('short ');
});
