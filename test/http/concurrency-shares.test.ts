import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NodeServer, startNodeServer } from './node_server.ts';

const MOST = 12;
let tock: NodeServer;
let greedy: string;
let other: string;
/** The id of a task that has ended. */
let id: string;
beforeAll(async () => {
  tock = await startNodeServer({ TOCK_MOST_AT_ONCE: String(MOST) });
  greedy = await tock.makeKey();
  other = await tock.makeKey();
  await tock.send(
    other,
    'POST /v1/queues/full/tasks',
    JSON.stringify({ tasks: Array(500).fill({}) }),
  );
  id = await enqueue('ended');
  await tock.owner.query('select tock.cancel(array[$1::bigint])', [id]);
});
afterAll(() => tock.close());

async function enqueue(queue: string): Promise<string> {
  const reply = await tock.send(other, `POST /v1/queues/${queue}/tasks`, '{}');
  return ((await reply.json()) as { ids: [string] }).ids[0];
}

const waiting = '{"wait_seconds":30}';

type Kind = [what: string, kind: string, most: number, route: () => string, body?: string];

// The waiting calls here find a task at once, but they need a slot all the same.
const kinds: Kind[] = [
  ['enqueues', 'enqueues', MOST, () => 'POST /v1/queues/q/tasks', '{}'],
  ['claims', 'claims', MOST, () => 'POST /v1/queues/full/claim', '{}'],
  ['searches', 'calls', MOST, () => 'GET /v1/tasks?queue=full&limit=1'],
  ['long polls', 'waiting calls', 2 * MOST, () => 'POST /v1/queues/full/claim', waiting],
  ['waits for a result', 'waiting calls', 2 * MOST, () => `GET /v1/tasks/${id}?wait_seconds=30`],
];

test.each(kinds)(
  'a key that uses up the limit of a kind does not block another key: %s',
  async (...flooding) => {
    const [, kind, most] = flooding;
    const call = (key: string, [, , , route, body]: Kind) => tock.send(key, route(), body);
    const { held, release } = tock.hold(greedy, '');
    const refused: Response[] = [];
    const flood = Array.from({ length: most + 5 }, async () => {
      const reply = await call(greedy, flooding);
      if (reply.status === 503) refused.push(reply);
      return reply;
    });
    try {
      await expect.poll(() => [held(), refused.length]).toEqual([most, 5]);
      const others = await Promise.all(kinds.map((otherKind) => call(other, otherKind)));
      expect(others.map(({ ok }) => ok)).toEqual(kinds.map(() => true));
      const again = await call(greedy, flooding);
      expect([held(), again.status]).toEqual([most, 503]);
      for (const reply of [...refused, again]) {
        expect(reply.headers.get('retry-after')).toMatch(/^[123]$/);
        expect(await reply.json()).toMatchObject({
          detail: `This Worker has reached its limit of ${most} concurrent ${kind}.`,
          hint: expect.stringContaining('Retry after Retry-After.'),
        });
      }
    } finally {
      release();
    }
    const replies = await Promise.all(flood);
    expect(replies.filter(({ ok }) => ok)).toHaveLength(most);
    expect((await call(greedy, flooding)).ok).toBe(true);
  },
);

test("a key whose polls use up their limit does not block another key's polls", async () => {
  // `p_again` is in the statements that a waiting call sends after its first one.
  const { held, release } = tock.hold(greedy, 'p_again => true');
  const poll = (key: string, queue: string) =>
    tock.send(key, `POST /v1/queues/${queue}/claim`, waiting);
  const flood = Array.from({ length: 2 * MOST }, () => poll(greedy, 'asked'));
  try {
    // Polls have a thirtieth of the slots, and at least one.
    await expect.poll(held).toBe(1);
    const before = tock.statementCount(other);
    const polled = poll(other, 'own');
    await expect.poll(() => tock.statementCount(other)).toBeGreaterThan(before);
    const task = await enqueue('own');
    expect(await (await polled).json()).toMatchObject({ state: 'found', tasks: [{ id: task }] });
    expect(held()).toBe(1);
  } finally {
    release();
    const tasks = JSON.stringify({ tasks: Array(2 * MOST).fill({}) });
    await tock.send(other, 'POST /v1/queues/asked/tasks', tasks);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
  }
});
