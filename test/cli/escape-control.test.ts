import { beforeAll, expect, test } from 'vitest';
import { claim, enqueue, fail, leaseOf, promote } from '../sql/verbs.ts';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { env, connect } = transports('enqueue,claim,read,admin');
/** Text that would set colours and a title, clear the screen, add lines and change the direction of text. */
const hostile = '\x1b[31mred\x1b]0;title\x07\x9b2J\r\nid  done\tx\u202e\u2066\u2028\x7f';
/** The characters that a terminal obeys. quiet() has removed newlines and tabs before. */
const obeyed = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u;
const quiet = (text: string) => text.replaceAll(/\r?\n|\t/g, '');

let dead: string;
beforeAll(async () => {
  const client = await connect();
  const task = { payload: hostile, tenant: hostile, max_attempts: 1, unique_key: hostile };
  [dead = ''] = await enqueue(client, 'evil', [task]);
  const worker = hostile.slice(0, 100);
  await fail(client, leaseOf(await claim(client, 'evil', { worker })), {
    error: { message: hostile },
  });
  await enqueue(client, 'evil', [{ payload: hostile, tenant: hostile }]);
  leaseOf(await claim(client, 'evil', { worker }));
  const limited = { payload: hostile, concurrency_key: hostile };
  await enqueue(client, 'evil', [limited, limited]);
  await promote(client);
});

test.each([
  ['tasks', 'evil'],
  ['dead', 'evil'],
  ['leases'],
  ['concurrency', 'evil'],
  ['concurrency-key', 'evil', hostile],
  ['why', 'evil'],
  ['status'],
  ['export', 'evil'],
])('%s %s … escapes the control characters in data', async (...args) => {
  const { code, out, err } = await tock(args, { env: env() });
  expect([code, err]).toEqual([0, '']);
  expect(quiet(out)).not.toMatch(obeyed);
  // The newline in the hostile text does not begin a line of the table.
  expect(out).not.toMatch(/^id {2}done/m);
  const { out: json } = await tock([...args, '--json'], { env: env() });
  expect(quiet(json)).not.toMatch(obeyed);
  if (args[0] !== 'export') JSON.parse(json);
});

test('a CSV keeps the newlines of hostile text and escapes its control characters', async () => {
  const { code, out } = await tock(['export', 'evil', '--format', 'csv'], { env: env() });
  expect(code).toBe(0);
  expect(quiet(out)).not.toMatch(obeyed);
  expect(out).toContain('\\u001b[31mred');
});

test('a task is shown with all its text, and unchanged as JSON', async () => {
  const { out } = await tock(['task', dead], { env: env() });
  expect(quiet(out)).not.toMatch(obeyed);
  expect(out).toContain('\\u001b[31mred');
  const { out: json } = await tock(['task', dead, '--json'], { env: env() });
  expect(JSON.parse(json)).toMatchObject({ payload: hostile, error: { message: hostile } });
});

test('an error escapes control characters of the arguments', async () => {
  for (const args of [['task', hostile], ['concurrency-key', 'evil', `no ${hostile}`], [hostile]]) {
    const { code, out, err } = await tock(args, { env: env() });
    expect(code).toBeGreaterThan(0);
    expect(quiet(out + err)).not.toMatch(obeyed);
  }
});
