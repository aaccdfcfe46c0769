import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { cancelRequests } from '../../kernel/change/changes.ts';
import { spreadTasks } from '../../kernel/sessions.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  refusal,
  row,
} from '../../verbs.ts';
import { list, listAll } from './bulk_changes.ts';

databasePerFile();
let count = 0;

const queue = () => `w${++count}`;

type Part = { matched: number; changed: number; cursor: string | null };

/** Cancels a part of the matching tasks, or gives them a priority. */
async function cancelWhere(
  q: string,
  filter: object = {},
  limit = 1000,
  cursor: string | null = null,
  priority?: number,
) {
  const verb =
    priority === undefined ? 'cancel_where(' : `reprioritize_where(p_priority => ${priority}, `;
  return row<Part>(
    client,
    `select matched, changed, cursor
     from tock.${verb}p_queue => $1, p_filter => $2, p_cursor => $3, p_limit => $4)`,
    [q, JSON.stringify(filter), cursor, limit],
  );
}

async function through(part: (cursor: string | null) => Promise<Part>): Promise<[number, number]> {
  let cursor: string | null = null;
  let [changed, calls] = [0, 0];
  do {
    const answer: Part = await part(cursor);
    changed += answer.changed;
    cursor = answer.cursor;
    calls++;
  } while (cursor && calls < 100);
  return [changed, calls];
}

test("a tenant's tasks are cancelled in parts, and no other tenant's", async () => {
  const q = queue();
  await enqueue(client, q, spreadTasks(42, 3, 2));
  await enqueue(client, q, numberedTasks(6, 40, { tenant: 't0', delay_seconds: 50 }));
  await enqueue(client, queue(), numberedTasks(3, 0, { tenant: 't0' }));
  const [changed, calls] = await through((at) => cancelWhere(q, { tenant: 't0' }, 10, at));
  expect(changed).toBe(27);
  expect(calls).toBeGreaterThan(2);
  const none = { matched: 0, changed: 0, cursor: null };
  expect(await cancelWhere(q, { tenant: 't0' })).toEqual(none);
  const got = (await drain(client, q)).flat();
  expect(got).toHaveLength(21);
  expect(new Set(got.map((run) => run.tenant))).toEqual(new Set(['t1']));
  expect(await listAll(client, { queue: q, state: 'cancelled' })).toHaveLength(27);
  await expectInvariants(client);
});

test('running tasks are cancelled only with the filter state running', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(3));
  const runs = await claim(client, q, { limit: 2 });
  expect(await cancelWhere(q)).toEqual({ matched: 1, changed: 1, cursor: null });
  expect(await cancelRequests(client, leaseOf(runs))).toEqual([]);
  expect(await cancelWhere(q, { state: 'running' })).toMatchObject({ matched: 2, changed: 2 });
  expect(await cancelRequests(client, leaseOf(runs))).toHaveLength(2);
  await complete(client, leaseOf(runs));
});

test('tasks get another priority in parts, each once', async () => {
  const q = queue();
  await enqueue(
    client,
    q,
    numberedTasks(30).map((task, n) => ({ ...task, tenant: `t${n % 2}`, priority: n % 3 ? 7 : 1 })),
  );
  await enqueue(client, q, numberedTasks(5, 30, { tenant: 't0', delay_seconds: 50 }));
  const [changed] = await through((at) => cancelWhere(q, { tenant: 't0' }, 4, at, 1));
  expect(changed).toBe(15);
  const again = await cancelWhere(q, { tenant: 't0' }, 1000, null, 1);
  expect(again).toMatchObject({ matched: 0, changed: 0 });
  const first = await claim(client, q, { limit: 20 });
  expect(first.map((run) => run.priority)).toEqual(Array(20).fill(1));
  expect((await drain(client, q)).flat()).toHaveLength(10);
  const [waits] = (await list(client, { queue: q, state: 'waiting' })).tasks;
  expect(waits?.priority).toBe(1);
  await expectInvariants(client);
});

test.each(['ready', 'waiting', 'running'])(
  'a cancel of %s tasks in parts ends while others keep coming',
  async (state) => {
    const q = queue();
    const more = async () => {
      const delay_seconds = state === 'waiting' ? 50 : 0;
      await enqueue(client, q, numberedTasks(6, 0, { delay_seconds }));
      if (state === 'running') await claim(client, q, { limit: 6 });
    };
    await more();
    const [changed, calls] = await through(async (at) => {
      const part = await cancelWhere(q, { state }, 4, at);
      await more();
      return part;
    });
    expect(changed).toBe(6);
    expect(calls).toBeLessThan(10);
  },
);

test('tasks that become ready between two parts of a cancel are cancelled', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(8, 0, { delay_seconds: 50 }));
  const first = await cancelWhere(q, {}, 3);
  await makeDue(client, q);
  await promote(client);
  const [changed] = await through((at) => cancelWhere(q, {}, 3, at ?? first.cursor));
  expect(first.changed + changed).toBe(ids.length);
  expect(await drain(client, q)).toEqual([]);
});

test('strict priority starves: a task of priority 9 runs when no other is left', async () => {
  const q = queue();
  const [last] = await enqueue(client, q, [{ priority: 9 }]);
  for (let n = 0; n < 50; n++) {
    const [first] = await enqueue(client, q, [{ priority: 0 }]);
    expect(await claim(client, q)).toMatchObject([{ id: first }]);
  }
  expect(await claim(client, q)).toMatchObject([{ id: last, priority: 9 }]);
});

test('an invalid argument of a bulk change is refused with its field', async () => {
  const calls: [field: string, ...call: Parameters<typeof cancelWhere>][] = [
    ['queue', '*'],
    ['state', 'q', { state: 'dead' }],
    ['error', 'q', { error: 'e' }],
    ['limit', 'q', {}, 10_001],
    ['cursor', 'q', {}, 1, 'ff'],
    ['priority', 'q', {}, 1, null, 10],
  ];
  for (const [detail, ...call] of calls)
    expect(await refusal(cancelWhere(...call))).toMatchObject({ code: 'TK422', detail });
});
