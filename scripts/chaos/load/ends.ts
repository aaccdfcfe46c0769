import { type Client, call, type Transaction } from '../drivers/driver.ts';
import type { Claim, End, Run } from '../journal.ts';
import { stages } from './queues.ts';
import type { StepWork } from './stepping.ts';
import { send } from './words.ts';

export type Work = Client & { claim: Claim; waited: Set<string>; saved: StepWork['saved'] };

/** A result that can be the payload of the next stage. */
export const toResult = ({ n, version }: Run) => ({ n, v: version });

const lastStage = (queue: string) => !stages.slice(0, -1).includes(queue);

export async function end(
  work: Work,
  verb: Exclude<End['verb'], 'suspend'>,
  runs: Run[],
  body: object,
  final: Run[],
  transaction?: Transaction,
): Promise<boolean> {
  const { lease } = work.claim;
  const sent = Date.now();
  send(['ending', { verb, lease, sent, runs, final: final.map(({ id }) => id) }]);
  const args = { lease, ...body };
  const answer = transaction
    ? await work.driver.attempt(verb, args, transaction)
    : await call(work, verb, args, 20);
  if (answer?.status !== 200 || answer.undone) return false;
  send(['ended', lease, sent, Date.now(), answer.body.refused]);
  return answer.body.refused.length === 0;
}

export const done = (work: Work, runs: Run[]) => (lastStage(work.claim.queue) ? runs : []);

export const endWhole = (work: Work, transaction?: Transaction) =>
  end(work, 'complete', work.claim.runs, {}, done(work, work.claim.runs), transaction);

export function endPart(work: Work, runs: Run[]): Promise<boolean> {
  const results = runs.map((run) => ({ id: run.id, result: toResult(run) }));
  return end(work, 'complete', runs, { results }, done(work, runs));
}

/** Completes tasks and skips stages: they continue in the last stage, or end. */
export function jump(work: Work): Promise<boolean> {
  const over = work.random(2) === 0;
  const stage = over ? null : 'third';
  const results = work.claim.runs.map((run) => ({ id: run.id, result: toResult(run), stage }));
  return end(work, 'complete', work.claim.runs, { results }, over ? work.claim.runs : []);
}

export function failing(work: Work, runs: Run[], fatal: boolean): Promise<boolean> {
  const { random } = work;
  const error = { name: 'Broken', message: `by ${random(3)}` };
  const failures = runs.map(({ id }) => {
    if (fatal) return { id, error, fatal };
    return { id, error, ...(random(2) && { retry_in_seconds: random(1500) / 1000 }) };
  });
  return end(work, 'fail', runs, { failures }, []);
}

export const releasing = (work: Work, runs: Run[]) =>
  end(work, 'release', runs, { ids: runs.map(({ id }) => id) }, []);

/** Ends the lease in several calls: some tasks are completed, some fail, and the rest is completed or released. */
export async function torn(work: Work): Promise<void> {
  const { random } = work;
  const runs = work.claim.runs.toSorted(() => random(3) - 1);
  const cut = Math.ceil(runs.length / (2 + random(2)));
  await endPart(work, runs.slice(0, cut));
  const left = runs.slice(cut);
  if (left.length === 0) return;
  const choice = random(4);
  if (choice === 0) return void (await releasing(work, left));
  if (choice === 1) return void (await failing(work, left, false));
  if (choice === 2) return void (await endPart(work, left));
  await failing(work, left.splice(0, 5), random(4) === 0);
  for (const run of left.splice(0, random(8))) await endPart(work, [run]);
  if (left.length > 0) await (random(2) ? endPart(work, left) : releasing(work, left));
}
