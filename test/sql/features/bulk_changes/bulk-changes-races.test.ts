import type pg from 'pg';
import { expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { taskInState } from '../../kernel/change/changes.ts';
import { invariantsAfterEach, overlapping } from '../../kernel/sessions.ts';
import { retryRefused, retryTransient, seededRandom } from '../../load.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  rows,
  value,
} from '../../verbs.ts';
import { die, move, purge, redrive, rerun } from './bulk_changes.ts';

databasePerFile();
invariantsAfterEach();
let count = 0;

const queue = () => `x${++count}`;
const connect = (number: number) => Promise.all(Array.from({ length: number }, () => db.connect()));

test('a dead task that two callers redrive concurrently runs again once', async () => {
  const q = queue();
  await die(client, q, Array(5).fill('x'));
  const call = (on: pg.Client) => redrive(on, q);
  const [first, second] = await overlapping(call, call);
  expect([first.redriven, second.redriven, second.ids]).toEqual([5, 0, []]);
  expect((await drain(client, q)).flat()).toHaveLength(5);
});

test('a redrive whose caller is killed changes nothing, and its repeat redrives', async () => {
  const q = queue();
  await die(client, q, Array(4).fill('x'));
  const other = await db.connect();
  other.on('error', () => {});
  const pid = await pidOf(other);
  await other.query('begin');
  const lost = await redrive(other, q, { request_id: 'r' });
  await value(client, 'select pg_terminate_backend($1)', [pid]);
  const done = await redrive(client, q, { request_id: 'r' });
  expect(done.redriven).toBe(4);
  expect(done.ids.filter((id) => lost.ids.includes(id))).toEqual([]);
  expect((await drain(client, q)).flat()).toHaveLength(4);
});

test('eight callers that redrive and rerun a queue of dead tasks run each as often as they answer', async () => {
  const q = queue();
  const ids = await die(client, q, Array(300).fill('x'));
  const callers = await connect(8);
  const redriven: string[] = [];
  const reran: string[] = [];
  await Promise.all(
    callers.map(async (on, n) => {
      if (n === 7) {
        for (let at = 0; at < 60; at += 20) {
          const answer = await rerun(on, ids.slice(at, at + 20));
          reran.push(...answer.map((row) => row.rerun_id as string));
        }
        return;
      }
      let cursor: string | null = null;
      do {
        const part = await redrive(on, q, { limit: 30, cursor });
        redriven.push(...part.ids);
        cursor = part.cursor;
      } while (cursor);
    }),
  );
  expect(new Set(redriven).size).toBe(redriven.length);
  expect(reran).toHaveLength(60);
  const of = await rows<{ of_id: string; times: number }>(
    client,
    `select of_id, count(*)::int as times from tock.reruns where kind = 'redrive' and id = any ($1) group by 1`,
    [redriven],
  );
  expect(of.filter(({ times }) => times > 1)).toEqual([]);
  const reruns = 'select count(distinct of_id)::int from tock.reruns where of_id = any ($1)';
  expect(await value(client, reruns, [ids])).toBe(300);
  const got = (await drain(client, q)).flat().map((run) => run.id);
  expect(got.toSorted()).toEqual([...redriven, ...reran].toSorted());
});

test('callers that rerun one task get one new task with one request id, else a task each', async () => {
  const q = queue();
  const { id } = await taskInState(client, q, 'done');
  const callers = await connect(4);
  const answers = await Promise.all(callers.map((on) => rerun(on, [id], 'once')));
  expect(new Set(answers.map(([row]) => row?.rerun_id)).size).toBe(1);
  expect((await drain(client, q)).flat()).toHaveLength(1);
  const apart = await Promise.all(callers.map((on) => rerun(on, [id])));
  expect(new Set(apart.map(([row]) => row?.rerun_id)).size).toBe(4);
  expect((await drain(client, q)).flat()).toHaveLength(4);
});

test('purges beside claims and enqueues lose no task and run none twice', async () => {
  const q = queue();
  const random = seededRandom(Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000));
  /** How often callers claimed and completed each task. */
  const seen = new Map<string, { claimed: number; done: number }>();
  const of = (id: string) => seen.get(id) as { claimed: number; done: number };
  const load = { going: true };
  let purged = 0;
  const [a, b, c, d, e, f, g] = (await connect(7)) as pg.Client[];
  const send = async (on: pg.Client) => {
    while (load.going) {
      await on.query('begin');
      const ids = await enqueue(
        on,
        q,
        numberedTasks(1 + random(20)).map((task, n) => ({
          ...task,
          priority: 4 + (n % 2),
          tenant: `t${n % 3}`,
          ...(n % 7 === 0 && { delay_seconds: random(3) / 20 }),
        })),
      );
      for (const id of ids) seen.set(id, { claimed: 0, done: 0 });
      await on.query('commit');
    }
  };
  const work = async (on: pg.Client) => {
    while (load.going) {
      const runs = await claim(on, q, { limit: 1 + random(15) });
      for (const run of runs) of(run.id).claimed++;
      if (runs.length === 0 || !(await complete(on, leaseOf(runs)))) continue;
      for (const run of runs) of(run.id).done++;
    }
  };
  const clear = async (on: pg.Client) => {
    while (load.going) {
      const part = await purge(on, q, null, 1 + random(200));
      purged += Number(part.ready) + part.waiting;
      await on.query('select tock.promote(p_limit => 50, p_sweep => true)');
      await sleep(10);
    }
  };
  const all = [a, b].map((on) => send(on as pg.Client));
  all.push(...[c, d, e].map((on) => work(on as pg.Client)));
  all.push(...[f, g].map((on) => clear(on as pg.Client)));
  const done = () => [...seen.values()].filter((task) => task.done > 0).length;
  await retryTransient(load, all, () => purged > 2000 && done() > 2000);
  while ((await purge(client, q)).more);
  const states = await rows<{ id: string; state: string }>(
    client,
    'select task_id::text as id, state from tock.resolve_tasks($1)',
    [[...seen.keys()]],
  );
  expect(states).toHaveLength(seen.size);
  const odd = states.filter(({ id, state }) => {
    const { claimed, done } = of(id);
    return claimed > 1 || state !== (done === 1 ? 'done' : 'cancelled') || claimed !== done;
  });
  expect(odd.slice(0, 3)).toEqual([]);
});

test('tasks that are moved back and forth while they are claimed run once, in one queue', async () => {
  const queues = [queue(), queue(), queue()] as [string, string, string];
  const random = seededRandom(Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000));
  const ids = await enqueue(
    client,
    queues[0],
    numberedTasks(1200).map((task, n) => ({
      ...task,
      tenant: `t${n % 4}`,
      ...(n % 9 === 0 && { delay_seconds: 0.2 }),
    })),
  );
  const claimed = new Map<string, number>();
  let movers = 3;
  const callers = await connect(7);
  const take = async (on: pg.Client, q: string) => {
    const runs = await claim(on, q, { limit: 1 + random(6) });
    for (const { id } of runs) claimed.set(id, 1 + (claimed.get(id) ?? 0));
    if (runs.length > 0) await complete(on, leaseOf(runs));
    return runs.length;
  };
  await Promise.all([
    ...callers.slice(0, 3).map(async (on) => {
      for (let round = 0; round < 60; round++) {
        const any = () => ids[random(ids.length)] as string;
        const some = Array.from({ length: 1 + random(30) }, any);
        const to = queues[random(3)] as string;
        await retryRefused(() => move(on, some, to));
      }
      movers--;
    }),
    ...callers.slice(3).map(async (on) => {
      while (movers > 0) {
        await take(on, queues[random(3)] as string);
        await on.query('select tock.promote(p_limit => 100, p_sweep => true)');
      }
    }),
  ]);
  for (let left = 1; left > 0; ) {
    left = 0;
    for (const q of queues) {
      await makeDue(client, q);
      await promote(client);
      left += await take(client, q);
    }
  }
  expect([...claimed].filter(([, times]) => times > 1)).toEqual([]);
  expect(claimed.size).toBe(ids.length);
  const odd = "select task_id, state from tock.resolve_tasks($1) where state <> 'done'";
  expect(await rows(client, odd, [ids])).toEqual([]);
});
