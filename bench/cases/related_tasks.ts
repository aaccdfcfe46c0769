import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { payload } from '../payload.ts';
import type { Case, Group, Run, TestDatabase } from '../types.ts';
import { median, ratio, rounded, tockOf } from '../windows.ts';

const batch = 100;
const data = JSON.parse(payload(100));
/** The maximum number of tasks in one call over HTTP. */
const tasks = 10_000;
/** The number of rounds after a first one, which warms plans and caches. */
const roundsOf = (run: Run) => (run.quick ? 1 : run.rounds);

type Client = pg.Client;

/** One round of fan-out: rates of one call, and milliseconds until all tasks are ready. */
type Out = { after: number; plain: number; ready: number };
/** One round of fan-in: rates of claim and complete, and milliseconds until the callback is claimed. */
type Into = { after: number; plain: number; called: number };

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1000;
}

const enqueue = (client: Client, queue: string, tasks: object[]) =>
  client.query({
    name: 'enqueue',
    text: 'select cardinality(tock.enqueue($1, $2))',
    values: [queue, JSON.stringify(tasks)],
  });

type Claimed = { lease: string; payload: unknown };

async function claim(client: Client, queue: string, limit: number): Promise<Claimed[]> {
  const text =
    'select lease, payload from tock.claim(p_queue => $1, p_limit => $2, p_own_transaction => true)';
  return (await client.query({ name: 'claim', text, values: [queue, limit] })).rows;
}

const complete = (client: Client, lease: string) =>
  client.query({ name: 'complete', text: 'select * from tock.complete($1)', values: [lease] });

/** A list with the same task `count` times. */
const times = (count: number, task: object) => Array<object>(count).fill(task);

async function connections(run: Run, { url }: TestDatabase): Promise<Client[]> {
  const all = Array.from({ length: run.clients }, () => new pg.Client({ connectionString: url }));
  await Promise.all(all.map((client) => client.connect()));
  return all;
}

async function fanOut(client: Client, queue: string): Promise<Out> {
  const children = times(tasks, { payload: data, depends_on: ['parent'] });
  const after = await seconds(() => enqueue(client, queue, [{ name: 'parent' }, ...children]));
  const delayed = times(tasks, { payload: data, delay_seconds: 3600 });
  const plain = await seconds(() => enqueue(client, `${queue}-delayed`, delayed));
  const [parent] = await claim(client, queue, 1);
  const ready = await seconds(async () => {
    await complete(client, parent?.lease as string);
    const left = 'select count(*)::int as left from tock.waiting where lost >= 0 and queue = $1';
    // A claim promotes a thousand tasks, the maintenance job ten thousand. Here the job runs without a pause.
    while ((await client.query(left, [queue])).rows[0].left > 0) {
      await client.query('select tock.promote(10000)');
    }
  });
  return { after: tasks / after, plain: tasks / plain, ready: ready * 1000 };
}

/**
 * Claims and completes tasks by the hundred over all connections until all are done. With `callback` it then completes
 * the callback too.
 */
async function finish(all: Client[], queue: string, callback: boolean) {
  const from = performance.now();
  const wanted = tasks + (callback ? 1 : 0);
  let [done, last, called] = [0, 0, 0];
  const worker = async (client: Client) => {
    while (done < wanted) {
      const runs = await claim(client, queue, batch);
      if (runs[0] === undefined) {
        await pause(2);
        continue;
      }
      if (done + runs.length === wanted && callback) called = performance.now();
      await complete(client, runs[0].lease);
      done += runs.length;
      if (done === tasks) last = performance.now();
    }
  };
  await Promise.all(all.map(worker));
  return { rate: (tasks * 1000) / (last - from), called: Math.max(0, called - last) };
}

async function fanIn(all: Client[], queue: string): Promise<Into> {
  const [client] = all as [Client];
  const batchOf = times(tasks, { payload: data });
  await enqueue(client, queue, [...batchOf, { payload: 'sum', depends_on: ['*'] }]);
  const after = await finish(all, queue, true);
  await enqueue(client, queue, batchOf);
  const plain = await finish(all, queue, false);
  return { after: after.rate, plain: plain.rate, called: after.called };
}

type Moves = (client: Client, stage: number, runs: Claimed[]) => Promise<unknown>;

/** Each connection claims from a stage until it is empty, then from the next. Returns tasks per second through all. */
async function through(all: Client[], stages: string[], count: number, limit: number, ends: Moves) {
  let done = 0;
  const worker = async (client: Client) => {
    for (let stage = 0; done < count; ) {
      const runs = await claim(client, stages[stage] as string, limit);
      if (runs[0] === undefined) stage = (stage + 1) % stages.length;
      else await ends(client, stage, runs);
      if (stage === stages.length - 1) done += runs.length;
    }
  };
  return count / (await seconds(() => Promise.all(all.map(worker))));
}

async function stages(all: Client[], name: string, count: number, limit: number) {
  const [client] = all as [Client];
  const named = (kind: string) => [1, 2, 3].map((n) => `${name}-${kind}-${n}`);
  const [piped, plain] = [named('pipeline'), named('plain')];
  await enqueue(client, piped[0] as string, times(count, { payload: data, pipeline: piped }));
  const pipeline = await through(all, piped, count, limit, (connection, _, [run]) =>
    complete(connection, run?.lease as string),
  );
  await enqueue(client, plain[0] as string, times(count, { payload: data }));
  const byHand = await through(all, plain, count, limit, async (connection, stage, runs) => {
    const next = plain[stage + 1];
    if (next)
      await enqueue(
        connection,
        next,
        runs.map((run) => ({ payload: run.payload })),
      );
    await complete(connection, runs[0]?.lease as string);
  });
  return { pipeline, byHand };
}

/** pg-boss calls related jobs a flow. The other peers have no related jobs. */
async function flows(run: Run): Promise<{ out: Out; into: Into }[]> {
  const system = run.systems.find(({ name }) => name === 'pg-boss');
  if (!system) return [];
  const database = await run.open(system);
  try {
    const task = {
      url: database.url,
      clients: run.clients,
      rounds: roundsOf(run),
      tasks,
      batch,
    };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [fileURLToPath(new URL('../peers/flow.ts', import.meta.url))],
      { env: { ...process.env, BENCH_WORK: JSON.stringify(task) }, timeout: 300_000 },
    );
    return JSON.parse(stdout);
  } finally {
    await run.close(database);
  }
}

/** Runs Tock's rounds one after the other in one database. */
async function rounds<T>(run: Run, round: (all: Client[], n: number) => Promise<T>): Promise<T[]> {
  const database = await run.open(tockOf(run));
  const all = await connections(run, database);
  try {
    const results: T[] = [];
    for (let n = 0; n <= roundsOf(run); n++) {
      await run.settle(database);
      results.push(await round(all, n));
    }
    return results.slice(1);
  } finally {
    for (const client of all) await client.end();
    await run.close(database);
  }
}

type Shown<T> = { name: string; unit: string; of(round: T): number | null; note?: string };

function casesOf<T>(shown: Shown<T>[], ours: T[], theirs: T[]): Case[] {
  return shown.map(({ name, unit, of, note = '' }) => {
    const windows = (all: T[]) => all.flatMap((round) => of(round) ?? []);
    const peers: Case['peers'] = theirs.length > 0 ? { 'pg-boss': median(windows(theirs)) } : {};
    return { name, unit, tock: median(windows(ours)), floor: null, peers, note };
  });
}

async function measured(run: Run): Promise<Case[]> {
  const count = rounded(tasks);
  const boss = run.wants('children') || run.wants('callback') ? await flows(run) : [];
  const cases: Case[] = [];
  if (run.wants('children')) {
    const ours = await rounds(run, ([client], n) => fanOut(client as Client, `out${n}`));
    const shown: Shown<Out>[] = [
      {
        name: `enqueue ${count} children of one parent`,
        unit: 'tasks/s',
        of: (round) => round.after,
      },
      {
        name: `enqueue ${count} children, to as many delayed tasks`,
        unit: 'ratio',
        of: (round) => ratio(round.after, round.plain),
      },
      {
        name: `parent completed until all ${count} are ready`,
        unit: 'ms',
        of: (round) => round.ready,
        note: 'promotion asked for without a pause; pg-boss with resolveFlow() called at once, by itself it comes every 5 s',
      },
    ];
    cases.push(
      ...casesOf(
        shown,
        ours,
        boss.map(({ out }) => out),
      ),
    );
  }
  if (run.wants('callback')) {
    const ours = await rounds(run, (all, n) => fanIn(all, `in${n}`));
    const shown: Shown<Into>[] = [
      {
        name: `${count} with a callback, claim and complete`,
        unit: 'tasks/s',
        of: (round) => round.after,
      },
      {
        name: `${count} with a callback, to as many without`,
        unit: 'ratio',
        of: (round) => ratio(round.after, round.plain),
      },
      {
        name: 'last completion until its callback is claimed',
        unit: 'ms',
        of: (round) => round.called,
        note: 'pg-boss with resolveFlow() called at once',
      },
    ];
    cases.push(
      ...casesOf(
        shown,
        ours,
        boss.map(({ into }) => into),
      ),
    );
  }
  for (const limit of [1, batch]) {
    if (!run.wants(`stages ${limit}`)) continue;
    const moved = limit === 1 ? tasks / 50 : tasks / 2;
    const ours = await rounds(run, (all, n) => stages(all, `s${n}`, moved, limit));
    const shown: Shown<(typeof ours)[0]>[] = [
      {
        name: `pipeline of three stages, ${limit} a call`,
        unit: 'tasks/s',
        of: (round) => round.pipeline,
      },
      {
        name: `pipeline of three stages, ${limit} a call, to enqueue and complete by hand`,
        unit: 'ratio',
        of: ({ pipeline, byHand }) => ratio(pipeline, byHand),
        note: 'tasks through all three; by hand two calls, and what is lost between them runs twice',
      },
    ];
    cases.push(...casesOf(shown, ours, []));
  }
  return cases;
}

/** Related tasks: parents, callbacks, pipelines. Node sends the calls, as a worker would. */
export const groups: Group[] = [
  {
    name: 'together',
    cases: ['children', 'callback', 'stages 1', 'stages 100'],
    slow: true,
    run: measured,
  },
];
