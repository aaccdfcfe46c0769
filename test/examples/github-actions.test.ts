import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { conditionTimeout } from '../timeout.ts';
import { folder, type Process, startProcess, tock, useExample } from './copy.ts';
import { type SamplePages, startSamplePages } from './sample_pages.ts';

type Env = Record<string, string | number>;
type Step = { run?: string; uses?: string; env?: Env };
type Job = { 'timeout-minutes': number; env?: Env; steps: Step[] };

useExample('github-actions', 'links');
let pages: SamplePages;
let workflow: { on: object; concurrency: object; env?: Env; jobs: { work: Job } };

beforeAll(async () => {
  pages = await startSamplePages();
  workflow = parse(readFileSync(join(folder, 'tock-worker.yml'), 'utf8'));
});
afterAll(() => pages.close());

/** The step's environment, with the secrets in it. */
function envOf(job: Job, step: Step): Record<string, string> {
  const secrets: Record<string, string> = tock.env;
  const all = Object.entries({ ...workflow.env, ...job.env, ...step.env });
  const filled = all.map(([name, value]) => [
    name,
    String(value).replace(/\$\{\{ *secrets\.(\w+) *\}\}/g, (_, secret) => secrets[secret] ?? ''),
  ]);
  return Object.fromEntries(filled);
}

/** Runs the command of the workflow as GitHub's runner does, without the installation of packages. */
function job(): Process {
  const { work } = workflow.jobs;
  const [step, ...more] = work.steps.filter(({ run }) => run && !run.startsWith('npm ci'));
  if (!step?.run || more.length > 0) throw new Error('The workflow has another number of steps.');
  return startProcess(['bash', '-e', '-c', step.run], folder, envOf(work, step));
}

const link = (path: string) => ({ url: `${pages.url}${path}` });

test("a workflow runs the queue's tasks, and succeeds even if a task will be retried", async () => {
  const ids = await tock.enqueue('links', [...Array(30).fill(link('/a')), link('/503')]);
  const { code, out, err } = await job().ended;
  expect(code, err).toBe(0);
  expect(await tock.states(ids)).toEqual([...Array(30).fill('done'), 'waiting']);
  expect(out).toContain('done: 30, failed: 1');
  expect(err).toContain(`task ${ids.at(-1)}, attempt 1: Error:`);
});

test('a workflow fails if a task is dead', async () => {
  const [gone] = await tock.enqueue('links', [link('/404')]);
  const [last] = await tock.enqueue('links', [link('/500')], { max_attempts: 1 });
  const { code, err } = await job().ended;
  expect(code).toBe(1);
  expect(await tock.states([gone as string, last as string])).toEqual(['dead', 'dead']);
  expect(err).toContain(`task ${gone}, attempt 1: Fatal:`);
});

test('a cancelled workflow releases its tasks in the time that GitHub gives it', async () => {
  const [id] = await tock.enqueue('links', [link('/held')], { max_attempts: 1 });
  const { child, ended } = job();
  await vi.waitUntil(() => pages.requests.includes('/held'), { timeout: conditionTimeout });
  child.kill('SIGINT');
  expect((await ended).code).toBe(0);
  // The runner sends SIGTERM after 7.5 s.
  const worker = readFileSync(join(folder, 'worker.mjs'), 'utf8');
  expect(Number(/stop_seconds: (\d+)/.exec(worker)?.[1])).toBeLessThan(5);
  expect(await tock.task(id)).toMatchObject({ state: 'ready', attempt: 1, lost: 0 });
});

test("a worker's time limit is shorter than its job's, and a new run does not end an earlier one", () => {
  const { work } = workflow.jobs;
  const seconds = Number(work.env?.TOCK_FOR_SECONDS);
  expect(seconds + 60).toBeLessThan(work['timeout-minutes'] * 60);
  expect(workflow.concurrency).toMatchObject({ 'cancel-in-progress': false });
  expect(workflow.on).toHaveProperty('workflow_dispatch');
});
