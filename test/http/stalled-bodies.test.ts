import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { conditionTimeout } from '../timeout.ts';
import { type NodeServer, startNodeServer } from './node_server.ts';

const stall = vi.hoisted(() => ({ ms: 0 }));

vi.mock('../../functions/timeouts.ts', async (original) => ({
  ...(await original<object>()),
  // This timeout is longer than a test, so only BODY_STALL_MS ends a body.
  BODY_MS: 10 * conditionTimeout,
  get BODY_STALL_MS() {
    return stall.ms;
  },
}));

/** Number of stalled bodies. So many once blocked the requests of all other keys. */
const STALLED = 130;
const KiB = 1024;
// With this setting the limit is 160 pieces of 64 KiB. The stalled bodies of 256 KiB need 390.
const MOST = 120;
let tock: NodeServer;
let slow: string;
let other: string;
let sockets: ReturnType<NodeServer['write']>[] = [];
beforeAll(async () => {
  tock = await startNodeServer({ TOCK_MOST_AT_ONCE: String(MOST) });
  slow = await tock.makeKey();
  other = await tock.makeKey();
});
afterEach(() => {
  for (const { socket } of sockets.splice(0)) socket.destroy();
});
afterAll(() => tock.close());

const head = (key: string, more: string) =>
  `POST /v1/queues/q/tasks HTTP/1.1\r\nHost: tock\r\nAuthorization: Bearer ${key}\r\n${more}\r\n\r\n`;

const forms = {
  'with a length': (key: string, bytes: number) => [
    head(key, `Content-Length: ${4 * KiB * KiB}`),
    Buffer.alloc(bytes, ' '),
  ],
  'in chunks': (key: string, bytes: number) => [
    head(key, 'Transfer-Encoding: chunked'),
    `${bytes.toString(16)}\r\n`,
    Buffer.alloc(bytes, ' '),
  ],
};

/** Sends the beginning of each body, then nothing more. */
function begin(form: keyof typeof forms, key: string, bytes: number) {
  sockets = Array.from({ length: STALLED }, () => tock.write(...forms[form](key, bytes)));
  return sockets.map(({ answer }) => answer);
}

const megabyte = JSON.stringify({ payload: 'x'.repeat(200_000) }) + ' '.repeat(1_000_000);

/** Sends a large body. Returns null if the connection closed before the client saw an answer. */
const large = async (key: string) => {
  const reply = await tock.send(key, 'POST /v1/queues/q/tasks', megabyte).catch(() => null);
  return reply?.status ?? null;
};
/** The different statuses, without 503 for a full limit and without lost answers. */
const seen = (statuses: (number | null)[]) =>
  new Set(statuses.filter((status) => status !== null && status !== 503));

const each = Object.keys(forms) as (keyof typeof forms)[];

test.each(each)(
  'stalled bodies of unknown keys are refused and do not block other keys: %s',
  async (form) => {
    stall.ms = 2 * conditionTimeout;
    const answers = begin(form, 'tock_unheard_of', 9 * KiB);
    expect(await large(other)).toBe(201);
    // More bodies than the key has slots are checked at once, so some may get a 503.
    const statuses = seen(await Promise.all(answers));
    expect(statuses).toEqual(new Set([401]));
  },
);

test.each(each)('stalled bodies of one key leave slots to another key: %s', async (form) => {
  stall.ms = 2 * conditionTimeout;
  const answers = begin(form, slow, 256 * KiB);
  let full = 0;
  for (const answer of answers) void answer.then(() => full++);
  await expect.poll(() => full).toBeGreaterThan(0);
  await expect.poll(() => large(slow)).toBe(503);
  expect(await large(other)).toBe(201);
});

test.each(each)('a stalled body is refused and frees its slots: %s', async (form) => {
  stall.ms = 1000;
  const statuses = seen(await Promise.all(begin(form, slow, 256 * KiB)));
  expect(statuses).toEqual(new Set([408]));
  await expect.poll(() => large(slow)).toBe(201);
});
