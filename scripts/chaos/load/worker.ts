// A worker process of the load, which may be killed at any time. It writes a line of JSON for all that it sends and
// receives, before its next step. Usage: node worker.ts <name> <seed>, with CHAOS_TARGET
import { createInterface } from 'node:readline';
import { type Client, call } from '../drivers/driver.ts';
import { openDriver } from '../drivers/open.ts';
import type { TaskRequest } from '../journal.ts';
import { chosen, dice, pause } from '../random.ts';
import { type Lease, named, taken } from './claimed.ts';
import {
  done,
  end,
  endPart,
  endWhole,
  failing,
  jump,
  releasing,
  toResult,
  torn,
  type Work,
} from './ends.ts';
import { bounds, lease_seconds, queues } from './queues.ts';
import { type StepWork, stepThrough } from './stepping.ts';
import { onOutcome, send } from './words.ts';

const [name = '', seed = '1'] = process.argv.slice(2);
const target = JSON.parse(process.env.CHAOS_TARGET ?? '{}');
let draining = false;
// Numbers of tasks that this worker spawns, which no other process uses.
let number = Number(seed) * 1_000_000;
let claims = 0;

async function longer(work: Work): Promise<void> {
  const { claim, random } = work;
  await pause(random(1500));
  const progress = { progress: random(101), note: name };
  const answer = await call(work, 'extend', { lease: claim.lease, lease_seconds, progress });
  const until = new Date(answer?.body.leased_until ?? '').getTime();
  if (answer?.status === 200 && until < claim.until - 1)
    send(['differ', 'a lease was shortened', claim.lease, `${until} < ${claim.until}`]);
  await endWhole(work);
}

/** Completes a task and spawns others. With `wait` the task continues when they have ended, and is then completed. */
async function spawning(work: Work): Promise<void> {
  const { claim, random } = work;
  const [first, ...others] = claim.runs;
  if (!first) return;
  const again = claim.runs.filter(({ id }) => work.waited.has(id));
  if (again.length > 0 || others.length > 0) {
    await endPart(work, claim.runs);
    return;
  }
  const wait = random(2) === 0;
  const sent = Date.now();
  const requests = Array.from({ length: 1 + random(3) }, (): TaskRequest => {
    const call = `${claim.lease} ${first.run}`;
    return { n: ++number, call, queue: 'plain', sent, fate: 'unsure' };
  });
  for (const request of requests) send(['requested', request]);
  const tasks = requests.map(({ n }) => ({ payload: { n, v: 0 } }));
  const spawn = { queue: 'plain', tasks, wait };
  const results = [{ id: first.id, result: toResult(first), spawn }];
  const spawned = await end(work, 'complete', [first], { results }, wait ? [] : [first]);
  const numbers = requests.map(({ n }) => n);
  if (spawned) send(['settled', Date.now(), numbers]);
}

/** Runs the handlers of a few tasks, one after the other, and leaves the others to other workers. */
async function stepping(work: Work): Promise<void> {
  const { claim } = work;
  const step: StepWork = {
    ...work,
    calm: () => draining,
    executed: (execution) => send(['executed', execution]),
    stepped: (fact) => send(['stepped', fact]),
    suspending: (run) =>
      send([
        'ending',
        { verb: 'suspend', lease: claim.lease, sent: Date.now(), runs: [run], final: [] },
      ]),
    invoking(n) {
      const call = `invoke ${n}`;
      send(['requested', { n, call, queue: 'plain', sent: Date.now(), fate: 'unsure' }]);
    },
    invoked: (n) => send(['settled', Date.now(), [n]]),
  };
  const left = claim.runs.slice(10);
  if (left.length > 0) await releasing(work, left);
  for (const run of claim.runs.slice(0, 10)) {
    const end = await stepThrough(step, run);
    if (end === 'done') await endPart(work, [run]);
    else if (end === 'broken') await failing(work, [run], false);
    else if (end === 'cancelled') await releasing(work, [run]);
    else if (end === 'gone') return;
  }
}

/** Ends the lease after it has expired. Another worker may have its tasks by then. */
async function endLate(work: Work): Promise<unknown> {
  const { random, claim } = work;
  await pause(Math.max(0, claim.until - Date.now()) + 200 + random(1500));
  return random(3) === 0 ? endWhole(work) : endPart(work, claim.runs);
}

/** Ends the lease in a transaction that stays open for a while. */
async function endInOpenTransaction(work: Work): Promise<unknown> {
  const { random, driver } = work;
  if (!driver.transactions) return endWhole(work);
  const transaction = { hold: random(lease_seconds * 800) };
  return endWhole(work, { ...transaction, end: random(3) === 0 ? 'rollback' : 'commit' });
}

/** Ends the lease and claims the next tasks in one call, and works on these. */
async function endAndClaim(work: Work): Promise<void> {
  const { claim, random } = work;
  const { lease, queue, runs } = claim;
  const whole = random(2) === 0;
  const results = runs.map((run) => ({ id: run.id, result: toResult(run) }));
  const sent = Date.now();
  const final = done(work, runs).map(({ id }) => id);
  send(['ending', { verb: 'complete', lease, sent, runs, final }]);
  const ends = [whole ? { lease } : { lease, results }];
  const request_id = `${name} ${++claims}`;
  const options = { worker: name, limit: 1 + random(5), lease_seconds, request_id, alone: true };
  const answer = await call(work, 'next', { ...options, queue, ends }, 20);
  if (answer?.status !== 200) return;
  const answered = Date.now();
  const [ended] = answer.body.ended;
  if (!ended.lost) send(['ended', lease, sent, answered, ended.refused]);
  if (answer.body.lease === null) return;
  const delivery = taken({ ...answer.body, queue }, sent, answered);
  send(['claimed', delivery.claim]);
  await worked({ ...work, ...delivery });
}

const strategies: [number, (work: Work) => Promise<unknown>][] = [
  [30, (work) => endWhole(work)],
  [20, endAndClaim],
  [16, torn],
  [8, (work) => endPart(work, work.claim.runs)],
  [6, longer],
  [5, (work) => failing(work, work.claim.runs, false)],
  [3, (work) => releasing(work, work.claim.runs)],
  [2, (work) => end(work, 'release', work.claim.runs, {}, [])],
  [2, (work) => end(work, 'fail', work.claim.runs, {}, [])],
  [3, endInOpenTransaction],
  [6, endLate],
  [2, async () => onOutcome('walk away', '200', '')],
];

async function worked(work: Work): Promise<void> {
  const { queue, runs } = work.claim;
  if (queue === 'steps') await stepping(work);
  else if (queue === 'spawning' && !draining) await spawning(work);
  else if (draining) await endPart(work, runs);
  else if (queue === 'broken' && work.random(3) > 0)
    await failing(work, runs, work.random(2) === 0);
  else if (queue === 'first' && work.random(5) === 0) await jump(work);
  else await chosen(work.random, strategies)(work);
}

async function claimAndWork(client: Client): Promise<void> {
  const { random } = client;
  // The Worker pushes the tasks of `pushed`, until the drain turns push off.
  const names = Object.keys(queues).filter((queue) => draining || queue !== 'pushed');
  const limit = draining
    ? 500
    : chosen(random, [
        [6, 1],
        [6, 5],
        [2, 30],
        [1, 500],
      ]);
  // Some claims have no request id, because the database handles these in another way. If their answer is lost, the
  // tasks stay leased until the lease expires.
  const repeated = random(3) > 0 && { request_id: `${name} ${++claims}` };
  const options = {
    worker: name,
    limit,
    lease_seconds: random(4) ? lease_seconds : 1,
    alone: random(8) > 0,
    // Over HTTP some claims wait in the Durable Object.
    wait_seconds: draining ? 0 : Math.max(0, random(8) - 4),
    ...repeated,
  };
  const several = draining || random(2) === 0;
  const queue = names[random(names.length)] as string;
  const some = draining ? names : names.toSorted(() => random(3) - 1).slice(0, 4);
  const [verb, args] = several
    ? (['claim any', { ...options, queues: some }] as const)
    : (['claim', { ...options, queue }] as const);
  const claiming = (isNew = false) => call(client, verb, { ...args, isNew });
  const leasesOf = (body: { leases?: Lease[] }): Lease[] =>
    body.leases ?? [{ ...(body as Lease), queue }];
  const sent = Date.now();
  // Some claims commit late. Until then other clients see the tasks in their earlier state.
  const commitsLate = client.driver.transactions && !draining && random(10) === 0;
  const answer = commitsLate
    ? await client.driver.attempt(verb, args, { hold: random(1000), end: 'commit' })
    : await claiming(true);
  if (answer?.status !== 200 || answer.undone) return pause(200);
  const leases = leasesOf(answer.body).filter(({ lease }) => lease !== null);
  const deliveries = leases.map((lease) => taken(lease, sent, Date.now()));
  for (const { claim } of deliveries) send(['claimed', claim]);
  if (deliveries.length === 0) return pause(50 + random(150));
  if (repeated && random(8) === 0) {
    const again = await claiming();
    const [first, second] = [named(leases), again ? named(leasesOf(again.body)) : ''];
    const until = Math.min(...deliveries.map(({ claim }) => claim.until));
    if (again?.status === 200)
      send(['repeated', { sent, answered: Date.now(), until, first, second }]);
  }
  for (const delivery of deliveries) {
    const { claim } = delivery;
    // This pause makes leases overlap, as far as the limit allows that.
    if (claim.queue in bounds.caps) await pause(150);
    if (!draining && random(3) === 0) await pause(random(200));
    await worked({ ...client, ...delivery });
  }
}

async function loop(at: number): Promise<never> {
  const random = dice(Number(seed) * 100 + at);
  const driver = openDriver(target, onOutcome, at);
  for (;;) await claimAndWork({ driver, random });
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    draining = line === 'drain';
  })
  .on('close', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
for (let at = 0; at < 6; at++) void loop(at);
