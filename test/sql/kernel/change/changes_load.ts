import type pg from 'pg';
import { sleep } from '../../../sleep.ts';
import { claim, complete, enqueue, expire, fail, type Run, release } from '../../verbs.ts';
import { type ChangeOutcome, cancel, change } from './changes.ts';

/** The callers' knowledge of one task. Its times are counts of a clock that every call advances. */
type Known = {
  id: string;
  n: number;
  /** The lease of its last run, until a call of this load ends it. */
  live: string | null;
  /** Calls that end one of its runs: now in progress, and in all. */
  ending: number;
  ends: number;
  done: number;
  cancelledAt: number;
  askedToStop: boolean;
  /** The last payload and priority that later claims must return, and the time from which they must. */
  version: number;
  priority: number | null;
  promisedAt: number;
  /** 1 if one more attempt may miss the last change, because another attempt was ending during the change. */
  spare: number;
};

export type LoadState = {
  queue: string;
  limit: number;
  random: (below: number) => number;
  going: boolean;
  /** The number of tasks enqueued. */
  sent: number;
  tasks: Map<string, Known>;
  wrong: string[];
};

let clock = 0;
const runs = new Set<string>();

async function send(on: pg.Client, watch: LoadState, count: number): Promise<Known[]> {
  const first = watch.sent;
  watch.sent += count;
  const tasks = Array.from({ length: count }, (_, n) => ({
    payload: { n: first + n, v: 0 },
    priority: 3 + (n % 4),
    tenant: `t${n % 9}`,
    max_attempts: 1000,
  }));
  // The tasks are in the map before the commit, so before a claim can return them.
  await on.query('begin');
  const ids = await enqueue(on, watch.queue, tasks);
  const never = Number.POSITIVE_INFINITY;
  const sent = ids.map((id, n): Known => {
    const counts = { ending: 0, ends: 0, done: 0, version: 0, spare: 0 };
    const promise = { priority: null, promisedAt: never, cancelledAt: never, askedToStop: false };
    return { id, n: first + n, live: null, ...counts, ...promise };
  });
  for (const known of sent) watch.tasks.set(known.id, known);
  await on.query('commit');
  return sent;
}

/** Checks that a claimed run agrees with the callers' knowledge of its task. */
function checkRun(watch: LoadState, run: Run, time: number): void {
  const known = watch.tasks.get(run.id) as Known;
  const { n, v } = run.payload as { n: number; v: number };
  const say = (what: string) =>
    watch.wrong.push(`${what}: ${JSON.stringify({ run, known, asked: time })}`);
  if (n !== known.n) say("another task's payload");
  if (runs.has(run.run_id)) say('a run handed out twice');
  if (known.live) say('handed out while it runs');
  if (known.done > 0) say('handed out after it was done');
  const off = time > known.cancelledAt;
  if (off && !known.spare) say('handed out after it was cancelled');
  if (time > known.promisedAt && !known.spare) {
    if (v < known.version) say('an old payload');
    if (known.priority !== null && run.priority !== known.priority) say('an old priority');
  }
  if (off || time > known.promisedAt) known.spare = 0;
  runs.add(run.run_id);
  known.live = run.lease;
}

async function ended(known: Known[], call: () => Promise<unknown>): Promise<void> {
  for (const task of known) {
    task.live = null;
    task.ending++;
    task.ends++;
  }
  await call();
  for (const task of known) task.ending--;
}

export async function workOnce(on: pg.Client, watch: LoadState, kind: number): Promise<number> {
  const time = ++clock;
  const got = await claim(on, watch.queue, { limit: watch.limit });
  for (const run of got) checkRun(watch, run, time);
  const [first] = got;
  if (!first) return 0;
  const known = got.map((run) => watch.tasks.get(run.id) as Known);
  const retry_in_seconds = watch.random(3) / 20;
  if (kind < 14) {
    for (const task of known) task.live = null;
    if (await complete(on, first.lease)) for (const task of known) task.done++;
  } else if (kind < 17) {
    await ended(known, () => fail(on, first.lease, { retry_in_seconds }));
  } else if (kind < 19) {
    await ended(known, () => release(on, first.lease));
  } else {
    // The reaper ends these runs at an unknown time, so it may end one during any later change.
    for (const task of known) task.ending = Number.POSITIVE_INFINITY;
    await ended(known, () => expire(on, first.lease));
  }
  return got.length;
}

export async function work(on: pg.Client, watch: LoadState): Promise<void> {
  while (watch.going) if (!(await workOnce(on, watch, watch.random(20)))) await sleep(5);
}

/** Changes or cancels tasks that this caller enqueued itself: no other caller changes them. */
export async function changeOrCancel(
  on: pg.Client,
  watch: LoadState,
  batch: number,
): Promise<void> {
  let mine: Known[] = [];
  while (watch.going) {
    if (watch.random(2))
      mine = [...mine, ...(await send(on, watch, 1 + watch.random(batch)))].slice(-60);
    const some = Array.from({ length: 1 + watch.random(5) }, () => mine[watch.random(mine.length)]);
    if (!some[0]) continue;
    const list = [...new Set(some)] as Known[];
    const ids = list.map((task) => task.id);
    const before = list.map((task) => task.ends);
    const clear = list.map((task) => task.ending === 0);
    const kind = watch.random(10);
    let answer: ChangeOutcome[];
    const [head] = list as [Known];
    let priority: number | null = null;
    clock++;
    if (kind < 1) {
      answer = await cancel(on, ids);
    } else if (kind < 5) {
      list.length = 1;
      const payload = { n: head.n, v: head.version + 1 };
      answer = await change(on, [head.id], { payload });
    } else if (kind < 8) {
      priority = watch.random(10);
      // During the call a claim may return the old or the new priority.
      for (const task of list) task.priority = null;
      answer = await change(on, ids, { priority });
    } else {
      answer = await change(on, ids, { delay_seconds: watch.random(4) / 20 });
    }
    clock++;
    for (const [n, task] of list.entries()) {
      const answerRow = answer.find((row) => row.id === task.id);
      if (!answerRow) watch.wrong.push(`unknown to a change: ${JSON.stringify(task)}`);
      if (!answerRow?.changed) continue;
      // An attempt that ended during the call may be retried without the change. The next attempt must have it.
      const sure = clear[n] && task.ending === 0 && task.ends === before[n];
      if (!sure) task.spare = 1;
      if (kind < 1) {
        if (answerRow.state === 'cancelled') task.cancelledAt = clock;
        task.askedToStop = true;
        continue;
      }
      if (kind < 5) task.version++;
      if (priority !== null) task.priority = priority;
      task.promisedAt = clock;
    }
  }
}
