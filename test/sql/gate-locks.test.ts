import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { gated, payloads, promote, take } from './gates.ts';
import { complete, enqueue, fail, leaseOf, type Run, release, rows } from './support.ts';

// Who has the row of a gate keeps others from coming in: so nobody locks one that it doesn't open.
let db: Database;
let client: pg.Client;
let other: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
  other = await db.connect();
});

afterAll(() => db.drop());

/** The gates of a queue whose rows nobody has. */
const free = async (queue: string) =>
  (
    await rows<{ gate: string }>(
      other,
      'select gate from tock.gates where queue = $1 order by gate for update skip locked',
      [queue],
    )
  ).map(({ gate }) => gate);

describe('a part of a lease opens only the gates of what ended, when it is', () => {
  const ends: [string, (lease: string, id: string) => Promise<unknown>][] = [
    ['completed', (lease, id) => complete(client, lease, [{ id, result: 1 }])],
    ['failed', (lease, id) => fail(client, lease, [{ id, fatal: true }])],
    ['released', (lease, id) => release(client, lease, [id])],
  ];
  test.each(ends)('%s', async (queue, end) => {
    await enqueue(client, queue, [...gated('a', 1), ...gated('b', 2), ...gated('c', 3)]);
    const runs = await take(client, queue);
    expect(payloads(runs)).toEqual([1, 2, 3]);
    await enqueue(client, queue, gated('b', 4));
    await promote(client);
    await client.query('begin');
    await end(leaseOf(runs), (runs[1] as Run).id);
    expect(await free(queue)).toEqual(['a', 'c']);
    await client.query('commit');
    expect(payloads(await take(client, queue))).toEqual([queue === 'released' ? 2 : 4]);
  });
});
