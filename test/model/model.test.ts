import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import * as changes from './changes.ts';
import { compareWithModel, expectConsistent, settings } from './compare.ts';
import { doEnqueue } from './enqueues.ts';
import { doClaim, doComplete, doFail, doLease, doStale, lostLeases, pickLease } from './leases.ts';
import { type Model, newModel } from './model.ts';
import type { ModelDatabase } from './real.ts';
import { doSave, doSignal } from './saved_steps.ts';
import { type Step, steps } from './steps.ts';
import { settleDue } from './time.ts';

let db: Database;
let real: ModelDatabase;

beforeAll(async () => {
  db = await freshDatabase();
  real = { client: await db.connect() };
});

afterAll(() => db.drop());

async function take(model: Model, step: Step): Promise<void> {
  switch (step.do) {
    case 'enqueue':
      return doEnqueue(model, real, step);
    case 'claim':
      return doClaim(model, real, step);
    case 'complete':
    case 'release':
      return doComplete(model, real, step);
    case 'fail':
      return doFail(model, real, step);
    case 'extend':
    case 'lose':
      return doLease(model, real, step);
    case 'save':
      return doSave(model, real, step);
    case 'signal':
      return doSignal(model, real, step);
    case 'stale':
      return doStale(model, real, step);
    case 'cancel':
      return changes.doCancel(model, real, step);
    case 'rerun':
      return changes.doRerun(model, real, step);
    case 'change':
      return changes.doChange(model, real, step);
    case 'expire':
      return changes.doExpire(model, real, step);
    case 'purge':
      return changes.doPurge(model, real, step);
    case 'limit':
      return changes.doLimit(model, real, step);
    case 'segment':
      return changes.doSegment(real);
    case 'maintenance_jobs':
      return changes.doMaintenanceJobs(real);
    default:
      return changes.doQueue(model, real, step);
  }
}

/** True if the model has what the step acts on. */
function applies(model: Readonly<Model>, step: Step): boolean {
  if (step.do === 'stale') return lostLeases(model).length > 0;
  if ('lease' in step) return pickLease(model, step.lease) !== undefined;
  return !('some' in step) || model.tasks.size > 0;
}

const command = (step: Step): fc.AsyncCommand<Model, ModelDatabase> => ({
  check: (model) => applies(model, step),
  async run(model) {
    model.steps++;
    await take(model, step);
    await settleDue(model, real);
    if (model.steps % 5 === 0) await compareWithModel(model, real);
  },
  toString: () => JSON.stringify(step),
});

/** Ends and purges all tasks, so that their segments can close. Otherwise each run would slow down the next one. */
async function leaveNothing(queues: string[]): Promise<void> {
  const { client } = real;
  await client.query(
    "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
  );
  await client.query('select tock.reap(p_sweep => true)');
  for (const queue of queues) await client.query('select tock.purge_queue($1)', [queue]);
  await client.query('select tock.deactivate_streams()');
  await client.query('select tock.close_segments()');
}

let round = 0;
let followed = 0;
let failing = false;
/** The time after which no run begins. */
let end = 0;

async function follow(commands: Iterable<fc.AsyncCommand<Model, ModelDatabase>>): Promise<void> {
  if (Date.now() > end) return;
  const queues = [0, 1].map((n) => `model-${round}-${n}`);
  round++;
  const model = newModel(queues);
  await settings(real, queues);
  try {
    await fc.asyncModelRun(() => ({ model, real }), commands);
    await compareWithModel(model, real);
    await expectConsistent(real);
  } catch (error) {
    // fast-check has ten seconds to find a smaller failing example.
    if (!failing) end = Math.min(end, Date.now() + 10_000);
    failing = true;
    throw error;
  } finally {
    await leaveNothing(queues);
  }
  followed++;
}

const runs = Number(process.env.TOCK_MODEL_RUNS ?? 5);
const seedText = process.env.TOCK_MODEL_SEED;
const seeds = seedText ? [Number(seedText)] : [1, 2, Date.now() % 1_000_000];
const path = process.env.TOCK_MODEL_PATH;
const replayPath = process.env.TOCK_MODEL_REPLAY;

test.each(seeds)(
  'after random steps all tasks agree with the model (seed %i)',
  async (seed) => {
    // fast-check's bias would make the first runs the shortest.
    const commands = fc.noBias(
      fc.commands([steps.map(command)], {
        size: 'max',
        maxCommands: 100,
        ...(replayPath && { replayPath }),
      }),
    );
    const property = fc.asyncProperty(commands, follow);
    end = Date.now() + 1000 * Number(process.env.TOCK_MODEL_SECONDS ?? 600);
    followed = 0;
    failing = false;
    const details = await fc.check(property, { seed, numRuns: runs, ...(path && { path }) });
    console.log(`seed ${seed}: ${followed} runs`);
    if (!details.failed) return;
    const report = fc.defaultReportMessage(details) ?? '';
    const again = /replayPath="([^"]*)"/.exec(report)?.[1] ?? '';
    const { stack } = details.errorInstance as Error;
    expect.fail(
      `${stack}\n\n${report}\nTo see it again: TOCK_MODEL_SEED=${seed} TOCK_MODEL_PATH='${details.counterexamplePath}' ` +
        `TOCK_MODEL_REPLAY='${again}' npm test -- test/model/model.test.ts`,
    );
  },
  3_600_000,
);
