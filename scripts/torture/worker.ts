// A worker of the torture, a process of its own that may be killed at any time. It says what it sends and
// what it was told, each before it goes on, as lines of JSON. usage: node worker.ts <name> <seed>
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chosen, dice, pause, type Random } from '../soak/clock.ts';
import { type Api, call } from './call.ts';
import type { Ask, Claim, End, Given } from './facts.ts';
import { caps, lease_seconds, queues, stages } from './queues.ts';

const [name = '', seed = '1'] = process.argv.slice(2);
let draining = false;
// Numbers of tasks that this worker adds, which nobody else uses.
let number = Number(seed) * 1_000_000;
let claims = 0;

export type Word =
  | ['claimed', Claim]
  | ['asked', Ask]
  | ['settled', answered: number, numbers: number[]]
  | ['ending', End]
  | ['ended', lease: string, sent: number, told: number, refused: string[]]
  | ['heard', verb: string, outcome: string, detail: string]
  | ['differ', kind: string, task: string, detail: string];

// Written to its end before the next step is taken.
const say = (word: Word) => writeSync(1, `${JSON.stringify(word)}\n`);
const heard: Api['heard'] = (verb, outcome, detail) => {
  const needed = outcome.startsWith('2') ? '' : detail;
  say(['heard', verb, outcome, needed]);
};

type Work = { api: Api; random: Random; claim: Claim; waited: Set<string> };

/** The number in a payload, which gathered results and spawned tasks wrap. */
function numberIn(payload: unknown): { n: number; v: number; wrapped: boolean } {
  const { n, v, payload: inner } = (payload ?? {}) as Record<string, unknown>;
  if (n === undefined && inner) return { ...numberIn(inner), wrapped: true };
  return { n: Number(n ?? 0), v: Number(v ?? 0), wrapped: false };
}

/** A result that is a payload too, for the next stage. */
const resultOf = ({ n, version }: Given) => ({ n, v: version });

const lastStage = (queue: string) => !stages.slice(0, -1).includes(queue);

async function end(
  { api, claim }: Work,
  verb: End['verb'],
  runs: Given[],
  body: unknown,
  final: Given[],
): Promise<boolean> {
  const { lease } = claim;
  const sent = Date.now();
  say(['ending', { verb, lease, sent, runs, final: final.map(({ id }) => id) }]);
  const answer = await call(api, verb, `/v1/leases/${lease}/${verb}`, { body, patience: 20 });
  if (answer?.status !== 200) return false;
  say(['ended', lease, sent, Date.now(), answer.body.refused]);
  return answer.body.refused.length === 0;
}

const whole = (work: Work) =>
  end(work, 'complete', work.claim.runs, {}, lastStage(work.claim.queue) ? work.claim.runs : []);

function part(work: Work, runs: Given[]): Promise<boolean> {
  const results = runs.map((run) => ({ id: run.id, result: resultOf(run) }));
  return end(work, 'complete', runs, { results }, lastStage(work.claim.queue) ? runs : []);
}

/** Out of its turn: to the last stage, or none any more. */
function jump(work: Work): Promise<boolean> {
  const over = work.random(2) === 0;
  const stage = over ? null : 'third';
  const results = work.claim.runs.map((run) => ({ id: run.id, result: resultOf(run), stage }));
  return end(work, 'complete', work.claim.runs, { results }, over ? work.claim.runs : []);
}

function failing(work: Work, runs: Given[], fatal: boolean): Promise<boolean> {
  const { random } = work;
  const error = { name: 'Broken', message: `by ${random(3)}` };
  const failures = runs.map(({ id }) => {
    if (fatal) return { id, error, fatal };
    return { id, error, ...(random(2) && { retry_in_seconds: random(1500) / 1000 }) };
  });
  return end(work, 'fail', runs, { failures }, []);
}

function giving(work: Work, runs: Given[]): Promise<boolean> {
  return end(work, 'release', runs, { ids: runs.map(({ id }) => id) }, []);
}

async function torn(work: Work): Promise<void> {
  const { runs } = work.claim;
  const cut = Math.ceil(runs.length / 2);
  await part(work, runs.slice(0, cut));
  const left = runs.slice(cut);
  if (left.length === 0) return;
  const way = work.random(3);
  if (way === 0) await giving(work, left);
  else if (way === 1) await failing(work, left, false);
  else await part(work, left);
}

async function longer(work: Work): Promise<void> {
  const { api, claim, random } = work;
  await pause(random(1500));
  const progress = { progress: random(101), note: name };
  const path = `/v1/leases/${claim.lease}/extend`;
  const answer = await call(api, 'extend', path, { body: { lease_seconds, progress } });
  const until = Date.parse(answer?.body.leased_until ?? '');
  if (answer?.status === 200 && until < claim.until - 1)
    say(['differ', 'a lease was shortened', claim.lease, `${until} < ${claim.until}`]);
  await whole(work);
}

/** Adds tasks with the completion, and goes on when they have ended; then it is done. */
async function spawning(work: Work): Promise<void> {
  const { claim, random } = work;
  const [first, ...others] = claim.runs;
  if (!first) return;
  const again = claim.runs.filter(({ id }) => work.waited.has(id));
  if (again.length > 0 || others.length > 0) {
    await part(work, claim.runs);
    return;
  }
  const wait = random(2) === 0;
  const sent = Date.now();
  const asks = Array.from({ length: 1 + random(3) }, (): Ask => {
    const call = `${claim.lease} ${first.run}`;
    return { n: ++number, call, queue: 'plain', sent, fate: 'unsure' };
  });
  for (const ask of asks) say(['asked', ask]);
  const tasks = asks.map(({ n }) => ({ payload: { n, v: 0 } }));
  const spawn = { queue: 'plain', tasks, wait };
  const results = [{ id: first.id, result: resultOf(first), spawn }];
  const done = await end(work, 'complete', [first], { results }, wait ? [] : [first]);
  if (done) say(['settled', Date.now(), asks.map(({ n }) => n)]);
}

/** When its lease is over, and others may have its tasks. */
async function late(work: Work): Promise<unknown> {
  const { random, claim } = work;
  await pause(Math.max(0, claim.until - Date.now()) + 200 + random(1500));
  return random(3) === 0 ? whole(work) : part(work, claim.runs);
}

const ways: [number, (work: Work) => Promise<unknown>][] = [
  [50, whole],
  [16, torn],
  [8, (work) => part(work, work.claim.runs)],
  [6, longer],
  [5, (work) => failing(work, work.claim.runs, false)],
  [3, (work) => giving(work, work.claim.runs)],
  [6, late],
  [2, async () => heard('walk away', '200', '')],
];

async function worked(work: Work): Promise<void> {
  const { queue, runs } = work.claim;
  if (queue === 'spawning' && !draining) await spawning(work);
  else if (draining) await part(work, runs);
  else if (queue === 'broken' && work.random(3) > 0)
    await failing(work, runs, work.random(2) === 0);
  else if (queue === 'first' && work.random(5) === 0) await jump(work);
  else await chosen(work.random, ways)(work);
}

type Lease = { queue: string; lease: string | null; leased_until: string; tasks: Task[] };
type Task = { id: string; run_id: string; attempt: number; payload: unknown };

async function turn(api: Api, random: Random): Promise<void> {
  // What is pushed has nobody else until nothing is pushed any more.
  const names = Object.keys(queues).filter((queue) => draining || queue !== 'pushed');
  const limit = draining
    ? 100
    : chosen(random, [
        [6, 1],
        [6, 5],
        [2, 30],
      ]);
  // Of one without, whose answer is lost, the lease runs out; and it has a way of its own.
  const repeated = random(3) > 0 && { request_id: `${name} ${++claims}` };
  const body = { worker: name, limit, lease_seconds: random(4) ? lease_seconds : 1, ...repeated };
  const one = names[random(names.length)] as string;
  const several = draining || random(2) === 0;
  const chosenOnes = draining ? names : names.toSorted(() => random(3) - 1).slice(0, 4);
  const path = several ? '/v1/claim' : `/v1/queues/${one}/claim`;
  const sent = Date.now();
  const asked = several ? { ...body, queues: chosenOnes } : body;
  const answer = await call(api, several ? 'claim any' : 'claim', path, { body: asked });
  if (answer?.status !== 200) return pause(200);
  const answered = Date.now();
  const leases: Lease[] = several ? answer.body.leases : [{ ...answer.body, queue: one }];
  const given = leases.flatMap(({ queue, lease, leased_until, tasks }): [Claim, Set<string>][] => {
    if (!lease) return [];
    const waited = new Set<string>();
    const runs = tasks.map(({ id, run_id: run, attempt, payload }): Given => {
      const { n, v: version, wrapped } = numberIn(payload);
      if (wrapped) waited.add(id);
      return { id, run, attempt, n, version };
    });
    return [[{ sent, answered, queue, lease, until: Date.parse(leased_until), runs }, waited]];
  });
  for (const [claim] of given) say(['claimed', claim]);
  if (given.length === 0) return pause(50 + random(150));
  for (const [claim, waited] of given) {
    // For others to come in beside it, where they may.
    if (claim.queue in caps) await pause(150);
    if (!draining && random(3) === 0) await pause(random(200));
    await worked({ api, random, claim, waited });
  }
}

async function loop(at: number): Promise<never> {
  const random = dice(Number(seed) * 100 + at);
  const { TORTURE_URL: url = '', TORTURE_KEY: key = '' } = process.env;
  for (;;) await turn({ url, key, heard, random }, random);
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    draining = line === 'drain';
  })
  .on('close', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
for (let at = 0; at < 6; at++) void loop(at);
