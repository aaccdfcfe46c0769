import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ended } from '../../scripts/stack/run.ts';
import { folder, tock, useExample } from './copy.ts';
import { type SamplePages, startSamplePages } from './sample_pages.ts';

type Answer = { result?: Record<string, number>; error?: string; left?: number };

/** Even a slow machine answers a call in this time. An invocation reserves it at its end, and four seconds more. */
const call_seconds = 60;
const reserve_seconds = call_seconds + 4;

useExample('aws-lambda', 'pages');
let pages: SamplePages;
let runtime: ChildProcess;
let logged = '';

beforeAll(async () => {
  pages = await startSamplePages();
  const runs = join(import.meta.dirname, 'lambda.mjs');
  const env = { ...process.env, ...tock.env, CALL_SECONDS: String(call_seconds) };
  runtime = fork(runs, [join(folder, 'handler.mjs')], { env, silent: true });
  runtime.stderr?.setEncoding('utf8').on('data', (text) => {
    logged += text;
  });
  await once(runtime, 'message');
});
afterAll(async () => {
  runtime.kill('SIGKILL');
  await ended(runtime);
  pages.close();
});

/** Runs one invocation: the process runs only until its answer, and is frozen before and after. */
async function invoked(id: string, seconds: number): Promise<Answer> {
  runtime.kill('SIGCONT');
  runtime.send({ id, seconds });
  const [answer] = await once(runtime, 'message');
  runtime.kill('SIGSTOP');
  return answer;
}

const page = (path: string) => ({ url: `${pages.url}${path}` });

test("a function runs a queue's tasks in several invocations", async () => {
  // With this backoff the failed task is not due in the next invocation.
  const backoff = { kind: 'fixed', base_seconds: 3600 };
  const pageList = [page('/a'), page('/404'), page('/503')];
  const first = await tock.enqueue('pages', pageList, { backoff });
  expect(await invoked('one', 600)).toMatchObject({ result: { done: 1, failed: 2, lost: 0 } });
  expect(await tock.states(first)).toEqual(['done', 'dead', 'waiting']);
  await expect.poll(() => logged).toContain(`task ${first[1]}: Fatal:`);
  // While the process is frozen, the servers close its connections.
  pages.hangUp();
  tock.server.hangUp();
  const second = await tock.enqueue('pages', Array(20).fill(page('/b')));
  expect(await invoked('two', 600)).toMatchObject({ result: { done: 20, failed: 0, lost: 0 } });
  expect((await tock.task(second[0])).result).toEqual({
    bytes: 2,
    sha256: '9812b0b9d61e09b927d03ff93f64530d8fcf373810b7007129eb4b20962412cb',
  });
});

test('a function whose time is up releases its tasks, which counts as no attempt', async () => {
  const pageList = [page('/c'), ...Array(20).fill(page('/held'))];
  const ids = await tock.enqueue('pages', pageList, { max_attempts: 1 });
  const { result, left } = await invoked('three', reserve_seconds + 15);
  expect(result).toMatchObject({ done: 1, failed: 0, released: 4, lost: 0 });
  expect(left).toBeGreaterThan(0);
  expect(await tock.states(ids)).toEqual(['done', ...Array(20).fill('ready')]);
  expect((await tock.task(ids[1])).attempt).toBe(1);
});

test('a function without time for anything says so', async () => {
  const { error } = await invoked('four', reserve_seconds);
  expect(error).toContain('a timeout of more than');
});
