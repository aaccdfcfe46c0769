import { beforeAll, expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();
let tenants: string;
beforeAll(async () => {
  const { rows } = await tock.owner.query(
    "select key from tock.create_key(p_name => 't', p_scopes => '{enqueue}', p_tenants => '{acme}')",
  );
  tenants = rows[0].key;
});

const enqueue = (queue: string, body: object, key = tock.key) =>
  tock.send(`POST /v1/queues/${queue}/tasks`, { key, body });

const drawn = async () =>
  (await tock.owner.query('select last_value, is_called from tock.positions')).rows[0];

const large = { payload: 'x'.repeat(262_143) };

test.each([
  ['alone', large, 'payload'],
  ['among others', { tasks: [{}, large] }, 'tasks[1].payload'],
  ['as payloads', { payloads: [1, large.payload] }, 'payloads[1]'],
])(
  'a payload that is too large is refused before anything is written: %s',
  async (_, body, field) => {
    await enqueue('q', {});
    const before = await drawn();
    const refused = await enqueue('q', body);
    expect(refused).toMatchObject({ status: 422, body: { field } });
    expect(refused.body.detail).toContain('up to 262144 bytes of JSON');
    // An enqueue advances this sequence, and a rollback does not undo that. So no task was stored even for a moment.
    expect(await drawn()).toEqual(before);
  },
);

test("a payload that is too large is refused before a tenant's tasks are counted", async () => {
  const others = { tasks: [{ tenant: 'other' }, large] };
  const refused = await enqueue('q', others, tenants);
  expect(refused).toMatchObject({ status: 422, body: { field: 'tasks[1].payload' } });
  const fits = { tasks: [{ tenant: 'other' }, { payload: 'x'.repeat(262_142) }] };
  expect((await enqueue('q', fits, tenants)).status).toBe(403);
  // A key that may not enqueue here gets a 403, and no error about the size.
  const reader = await tock.makeKey(['read']);
  expect((await enqueue('q', others, reader)).status).toBe(403);
});

const fitting = 'x'.repeat(262_142);

test.each([
  ['a key for all tenants', () => tock.key, { payload: fitting }],
  ['payloads of a key for one tenant', () => tenants, { payloads: [fitting] }],
])(
  "a repeated call returns its ids, even if the queue's limit is smaller now: %s",
  async (what, key, content) => {
    const queue = `less-${what.replaceAll(' ', '-')}`;
    const body = { ...content, request_id: 'r' };
    const first = await enqueue(queue, body, key());
    expect(first.status).toBe(201);
    await tock.send(`PUT /v1/queues/${queue}`, { body: { max_payload_bytes: 1024 } });
    expect(await enqueue(queue, body, key())).toMatchObject({ status: 201, body: first.body });
    const other = { ...body, request_id: 'other' };
    expect((await enqueue(queue, other, key())).status).toBe(422);
  },
);

test('a queue with a higher limit accepts larger payloads', async () => {
  await tock.send('PUT /v1/queues/roomy', { body: { max_payload_bytes: 1_000_000 } });
  expect((await enqueue('roomy', large)).status).toBe(201);
  expect((await enqueue('roomy', large, tenants)).status).toBe(201);
});
