import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  value,
} from '../../verbs.ts';
import { cancel, cancelRequests, change } from './changes.ts';

let db: Database;
let client: pg.Client;
let count = 0;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const queue = () => `n${++count}`;

test('10,000 tasks in all states are cancelled at once', async () => {
  const q = queue();
  const ids = [
    ...(await enqueue(client, q, numberedTasks(6000))),
    ...(await enqueue(client, q, numberedTasks(4000, 6000, { delay_seconds: 1000 }))),
  ];
  const running = leaseOf(await claim(client, q, { limit: 1000 }));
  await complete(client, leaseOf(await claim(client, q, { limit: 1000 })));
  const answer = await cancel(client, ids);
  expect(answer).toHaveLength(10_000);
  const kinds = new Map<string, number>();
  for (const { state, changed } of answer) {
    const kind = `${state} ${changed}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  expect(Object.fromEntries(kinds)).toEqual({
    'running true': 1000,
    'done false': 1000,
    'cancelled true': 8000,
  });
  expect(await cancelRequests(client, running)).toHaveLength(1000);
  expect(await claim(client, q, { limit: 100 })).toEqual([]);
  expect(await value(client, 'select count(*)::int from tock.waiting where queue = $1', [q])).toBe(
    0,
  );
  await expectInvariants(client);
});

test('10,000 tasks in all states are changed at once', async () => {
  const q = queue();
  const ids = [
    ...(await enqueue(client, q, numberedTasks(6000))),
    ...(await enqueue(client, q, numberedTasks(4000, 6000, { delay_seconds: 1000 }))),
  ];
  const running = leaseOf(await claim(client, q, { limit: 1000 }));
  await cancel(client, ids.slice(-1000));
  const answer = await change(client, ids, { priority: 3, payload: 'all' });
  expect(answer.filter((row) => row.changed)).toHaveLength(9000);
  await fail(client, running, { retry_in_seconds: 0 });
  await makeDue(client, q);
  await promote(client);
  const got = (await drain(client, q, { limit: 1000 })).flat();
  expect(got).toHaveLength(9000);
  expect(new Set(got.map((run) => run.id)).size).toBe(9000);
  expect(new Set(got.map((run) => `${run.priority} ${run.payload}`))).toEqual(new Set(['3 all']));
  await expectInvariants(client);
});
