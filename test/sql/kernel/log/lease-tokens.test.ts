import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  extend,
  fail,
  leaseOf,
  release,
  task,
  value,
} from '../../verbs.ts';

// The token of a lease of one run contains the lease's place, so no index holds it.
databasePerFile();

let queues = 0;

/** Claims one task in its own queue. */
async function leased(): Promise<[lease: string, id: string]> {
  const queue = `q${++queues}`;
  const [id] = await enqueue(client, queue, [{}]);
  return [leaseOf(await claim(client, queue)), id as string];
}

/** How earlier versions stored a lease of one run: `alone` was null, and the token had another format. */
const earlier: [string, (lease: string) => string][] = [
  ['its place', (lease) => lease],
  [
    'random bits alone',
    (lease) => `${lease.slice(0, 14)}4${lease.slice(15, 24)}bad00${lease.slice(29)}`,
  ],
  ['its cursor alone', (lease) => `0${lease.slice(1, 24)}bad00${lease.slice(29)}`],
];

const state = async (id: string) => (await task(client, id))?.state;
const again = { error: { name: 'Boom' }, retry_in_seconds: 0 };

/** Each way to end a lease, with the state of its task afterwards. */
type End = (lease: string, id: string) => Promise<unknown>;
const ends: [name: string, end: End, is: string][] = [
  ['completed', (lease) => complete(client, lease), 'done'],
  ['completed by its id', (lease, id) => complete(client, lease, [{ id, result: 1 }]), 'done'],
  ['failed', (lease) => fail(client, lease, again), 'ready'],
  ['released', (lease) => release(client, lease), 'ready'],
];

async function expectEnds([, end, is]: (typeof ends)[0], lease: string, id: string) {
  const answer = await end(lease, id);
  expect(answer).toMatchObject({ refused: [] });
  expect(await state(id)).toBe(is);
  if (is === 'done') expect(await end(lease, id)).toEqual(answer);
}

test('a token leads to its lease of one run, at both ends of any segment', async () => {
  const edges = [2 ** 31 - 5, 2 ** 31, 2 ** 31 + 1];
  for (const first of [1, 16_777_216, ...edges, 2 ** 40 + 12_345, 2 ** 43 - 2 ** 30]) {
    for (const offset of [-1, 0, 1, 4711, 2 ** 30 - 2]) {
      for (const stream of [1, 4095, 1_048_575]) {
        const after = first + offset;
        const stored = await value(
          client,
          `select array[tock.token_stream(t), tock.token_cursor(t, $1), tock.token_segment(t), tock.is_of_one(t)::integer,
             tock.lease_has_options(t)::integer] from tock.new_token_of_one(268435455, $2, $3) t`,
          [first, stream, after],
        );
        expect(stored).toEqual([stream, after, 268_435_455, 1, 0].map(String));
        const many = 'select tock.is_of_one(tock.new_token(1, $1))';
        expect(await value(client, many, [after])).toBe(false);
      }
    }
  }
});

test('a segment is at most as wide as a token can address', async () => {
  await client.query(
    `select tock.create_segments(p_ahead => (select max(number) - tock.newest_segment() + 1 from tock.segments), p_width => 5000000000)`,
  );
  const widest = 'select max(end_position - first_position) from tock.segments';
  expect(await value(client, widest)).toBe(String(2 ** 30));
});

test('the tokens of a stream are in the order of its leases', async () => {
  await enqueue(client, 'order', Array(9).fill({}));
  const tokens = (await drain(client, 'order', { limit: 1 })).map(leaseOf);
  expect(tokens.toSorted()).toEqual(tokens);
});

test('only leases of many runs have their tokens in an index', async () => {
  await leased();
  await enqueue(client, 'many', [{}, {}]);
  const many = leaseOf(await claim(client, 'many', { limit: 2 }));
  const predicate = await value<string>(
    client,
    "select pg_get_expr(indpred, indrelid) from pg_index where indexrelid = 'tock.leases_by_token'::regclass",
  );
  const held = `select array_agg(token) from tock.leases where ${predicate} and runs > 0`;
  expect(await value(client, held)).toEqual([many]);
});

for (const way of ends) {
  const [name, end] = way;

  test(`a lease of one run is ${name} by its token, and by no other`, async () => {
    const [lease, id] = await leased();
    for (const at of [0, 10, 16, 20, 25, 28, 31, 35]) {
      const digit = (Number.parseInt(lease[at] as string, 16) ^ 1).toString(16);
      const other = lease.slice(0, at) + digit + lease.slice(at + 1);
      expect(await extend(client, other)).toBeUndefined();
      await end(other, id);
      expect(await state(id)).toBe('running');
    }
    expect(await extend(client, lease)).toMatchObject({ runs: 1 });
    await expectEnds(way, lease, id);
  });

  test.each(earlier)(
    `a lease of one run with a token of %s, and no mark, is ${name}`,
    async (_, before) => {
      const [lease, id] = await leased();
      const old = before(lease);
      const store = 'update tock.leases set token = $2, alone = null where token = $1';
      await client.query(store, [lease, old]);
      if (old !== lease) expect(await extend(client, old)).toMatchObject({ runs: 1 });
      await expectEnds(way, old, id);
    },
  );
}
