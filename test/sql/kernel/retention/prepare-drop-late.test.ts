import type pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectWhole } from '../../invariants.ts';
import { complete, drain, enqueue, fail, numbered, task, value } from '../../verbs.ts';
import { age, audit, epochs, pass, retain, settle, take } from '../segment/segments.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((one) => one.drop())));

/** The oldest epochs go, whatever their retention; those named must be gone then. */
async function dropped(...numbers: number[]): Promise<void> {
  await settle(client);
  await age(client, '1 year');
  await retain(client);
  const left = await epochs(client);
  expect(numbers.filter((number) => left.includes(number))).toEqual([]);
}

const change = (id: string, changes: object) =>
  client.query('select * from tock.change(array[$1]::bigint[], $2)', [id, changes]);

describe('a change of a run whose epoch is dropped after it', () => {
  test('starts what is ready yet', async () => {
    const [id] = await enqueue(client, 'q', numbered(1));
    await pass(client);
    const before = await enqueue(client, 'q', [{ priority: 9 }]);
    await change(id as string, { priority: 9, payload: 'changed' });
    const passing = await take(client, 'q', 1);
    expect(passing.ids).toEqual(before);
    await complete(client, passing.lease);
    await dropped(1);
    const runs = (await drain(client, 'q')).flat();
    expect(runs.map((run) => [run.id, run.payload])).toEqual([[id, 'changed']]);
  });

  test('starts what it put in its place, once', async () => {
    const [id] = await enqueue(client, 'q', numbered(1));
    await pass(client);
    await change(id as string, { priority: 9, payload: 'changed' });
    const [other] = await enqueue(client, 'q', numbered(1, 7, { priority: 0 }));
    await complete(client, (await take(client, 'q')).lease);
    await settle(client);
    await pass(client);
    const runs = (await drain(client, 'q')).flat();
    expect(runs.map((run) => [run.id, run.payload])).toEqual([[id, 'changed']]);
    expect((await task(client, other as string))?.state).toBe('done');
  });
});

test('steps of a few rows lead to the same end', async () => {
  await enqueue(client, 'q', numbered(20));
  const { lease, ids } = await take(client, 'q', 20);
  await fail(
    client,
    lease,
    ids.slice(0, 15).map((id) => ({ id, retry_in_seconds: 0 })),
  );
  await complete(client, lease);
  const again = await take(client, 'q', 20);
  await pass(client);
  await fail(client, again.lease, { retry_in_seconds: 0 });
  const third = await take(client, 'q', 20);
  expect(third.ids).toHaveLength(15);
  await settle(client);
  await audit(client, 3);
  await age(client, '1 year');
  let steps = 0;
  while ((await value<number>(client, 'select tock.let_go(1, 2)')) > 0) steps++;
  expect(steps).toBeGreaterThan(10);
  await retain(client);
  expect(await epochs(client)).not.toContain(1);
  for (const id of ids.slice(0, 15)) {
    expect(await task(client, id)).toMatchObject({ id, attempt: 3, state: 'running' });
  }
  await complete(client, third.lease);
  await expectWhole(client);
  await pass(client);
  await dropped(2);
  expect(await value(client, 'select count(*)::int from tock.promotions')).toBe(0);
});
