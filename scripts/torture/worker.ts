// A worker of the torture, a process of its own that may be killed at any time. It says what it sends and what
// it was told, each before it goes on, as lines of JSON. usage: node worker.ts <name> <seed>, the rest in the environment
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chosen, dice, now, pause, type Random } from '../soak/clock.ts';
import { type Answered, openCalls } from './calls.ts';
import type { Given } from './ledger.ts';
import { queues } from './queues.ts';

const [name = '', seed = '1', born = '1'] = process.argv.slice(2);
const { repeated } = openCalls(process.env.TORTURE_URL ?? '', process.env.TORTURE_KEY ?? '');
let draining = false;
let spawned = Number(born) * 1_000_000_000;

export type Word =
  | ['claimed', sent: number, queue: string, runs: Given[]]
  | ['tried', what: 'done' | 'dead', numbers: number[]]
  | ['done', at: number, queue: string, runs: Given[], by: string | null]
  | ['spawning', numbers: number[]]
  | ['spawned', numbers: number[]]
  | ['said', verb: string, status: number, detail: string];

// Written to its end before the next step is taken.
const say = (word: Word) => writeSync(1, `${JSON.stringify(word)}\n`);

type Payload = { n: number; sure?: boolean };
/** After it has waited for what it spawned, its payload is under `payload`. */
type Task = { id: string; run_id: string; payload: Payload & { payload?: Payload } };
type Leased = { queue: string; lease: string; tasks: Task[] };
type Work = Leased & { random: Random; seconds: number };

const early: readonly string[] = queues.stages.slice(0, -1);
const ownOf = ({ payload }: Task): Payload => payload.payload ?? payload;
const numbers = (tasks: Task[]) => tasks.map((task) => ownOf(task).n);
const given = (tasks: Task[]) =>
  tasks.map((task): Given => ({ id: task.id, run_id: task.run_id, n: ownOf(task).n }));

async function ask<T>(verb: string, path: string, body: object, request?: string) {
  const said: Answered<T> = await repeated<T>('POST', path, body, request);
  if ('answer' in said) {
    say(['said', verb, 200, '']);
    return said.answer;
  }
  say(['said', verb, said.status, said.detail]);
  return null;
}

/** Where there is a next stage, it takes over the result. */
const whole = async ({ queue, lease, tasks }: Work) => {
  if (early.includes(queue)) return part({ queue, lease } as Work, tasks);
  say(['tried', 'done', numbers(tasks)]);
  const answer = await ask<{ completed: number }>('complete', `/v1/leases/${lease}/complete`, {});
  if (answer?.completed === tasks.length) say(['done', now(), queue, given(tasks), null]);
};

async function part({ queue, lease }: Work, tasks: Task[]): Promise<void> {
  const by = `${name} ${now()}`;
  say(['tried', 'done', numbers(tasks)]);
  const results = tasks.map((task) => ({ id: task.id, result: { ...ownOf(task), by } }));
  const body = { results };
  const answer = await ask<{ refused: string[] }>(
    'complete a part',
    `/v1/leases/${lease}/complete`,
    body,
  );
  if (!answer) return;
  const good = tasks.filter(({ id }) => !answer.refused.includes(id));
  if (good.length > 0) say(['done', now(), queue, given(good), by]);
}

/** One that leaves two more behind. */
async function parent({ queue, lease, tasks, random }: Work): Promise<void> {
  const [first] = tasks as [Task];
  const children = [++spawned, ++spawned];
  say(['spawning', children]);
  say(['tried', 'done', numbers([first])]);
  const spawn = {
    queue: queues.plain,
    tasks: children.map((n) => ({ payload: { n } })),
    ...(random(3) === 0 && { wait: true }),
  };
  const answer = await ask<{ refused: string[] }>('spawn', `/v1/leases/${lease}/complete`, {
    results: [{ id: first.id, result: ownOf(first), spawn }],
  });
  if (answer?.refused.length === 0) {
    say(['spawned', children]);
    // With wait it goes on when they have ended: that run is not its last.
    if (!spawn.wait) say(['done', now(), queue, given([first]), null]);
  }
}

async function failing({ lease, random }: Work, tasks: Task[]): Promise<void> {
  const failures = tasks.map((task) => ({
    id: task.id,
    error: { name: 'Broken' },
    ...(random(10) === 0 && !ownOf(task).sure
      ? { fatal: true }
      : random(2) === 0 && { retry_in_seconds: random(2000) / 1000 }),
  }));
  const fatal = failures.filter((one) => 'fatal' in one).map((one) => one.id);
  const dead = tasks.filter(({ id }) => fatal.includes(id));
  if (dead.length > 0) say(['tried', 'dead', numbers(dead)]);
  await ask('fail', `/v1/leases/${lease}/fail`, { failures });
}

async function torn(work: Work): Promise<void> {
  const tasks = work.tasks.toSorted(() => work.random(3) - 1);
  const cut = Math.ceil(tasks.length / 3);
  await part(work, tasks.slice(0, cut));
  if (tasks.length > cut) await failing(work, tasks.slice(cut, cut + 5));
  const left = tasks.slice(cut + 5);
  if (left.length === 0) return;
  if (work.random(2)) return part(work, left);
  await ask('release a part', `/v1/leases/${work.lease}/release`, {
    ids: left.map(({ id }) => id),
  });
}

async function longer(work: Work): Promise<void> {
  for (let beats = 1 + work.random(3); beats > 0; beats--) {
    await pause(work.random(work.seconds * 400));
    await ask('extend', `/v1/leases/${work.lease}/extend`, {
      lease_seconds: work.seconds,
      progress: { progress: work.random(100) },
    });
  }
  await whole(work);
}

const ways: [number, (work: Work) => Promise<unknown>][] = [
  [50, whole],
  [20, torn],
  [8, (work) => part(work, work.tasks)],
  [5, longer],
  [4, (work) => failing(work, work.tasks)],
  [4, parent],
  [3, (work) => ask('release', `/v1/leases/${work.lease}/release`, {})],
  // It comes too late, or never.
  [2, (work) => pause(work.seconds * 1000 + work.random(1500)).then(() => whole(work))],
  [2, async () => say(['said', 'walk away', 200, ''])],
];

async function turn(random: Random): Promise<void> {
  const seconds = 3 + random(3);
  const limit = draining ? 500 : [1, 1, 7, 7, 50, 300][random(6)];
  const request = random(3) === 0 ? `${name}-${now()}` : undefined;
  const body = { worker: name, limit, lease_seconds: seconds };
  const sent = now();
  const all = [queues.plain, queues.gated, queues.unique, queues.family, ...queues.stages];
  const one = [...all, queues.ticks][random(all.length + 1)] as string;
  const leases: Leased[] = [];
  if (random(3) === 0) {
    const answer = await ask<{ leases: Leased[] }>(
      'claim of several',
      '/v1/claim',
      { ...body, queues: [...all, queues.ticks] },
      request,
    );
    leases.push(...(answer?.leases ?? []));
  } else {
    const answer = await ask<Leased>('claim', `/v1/queues/${one}/claim`, body, request);
    if (answer?.lease) leases.push({ ...answer, queue: one });
  }
  if (leases.length === 0) return pause(20 + random(150));
  for (const { queue, tasks } of leases) say(['claimed', sent, queue, given(tasks)]);
  for (const leased of leases) {
    // Who is inside a gate stays a while, so that one too many is seen.
    if (leased.queue === queues.gated) await pause(100 + random(200));
    const work = { ...leased, random, seconds };
    await (draining ? whole(work) : chosen(random, ways)(work));
  }
}

async function loop(at: number): Promise<never> {
  const random = dice(Number(seed) * 100 + at);
  for (;;) await turn(random);
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    draining = line === 'drain';
  })
  .on('close', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
for (let at = 0; at < 3; at++) void loop(at);
