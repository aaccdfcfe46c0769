import { parseArgs } from 'node:util';
import { type Api, api, expectOk } from './demo/api.ts';
import { byConsumer } from './demo/by_consumer.ts';
import { byPush } from './demo/by_push.ts';
import { byWorker } from './demo/by_worker.ts';
import { check, type Run } from './demo/check.ts';
import { figures } from './demo/figures.ts';
import { realFiles } from './demo/files.ts';
import { findReapers } from './demo/reaper.ts';
import { type Stack, useStack } from './demo/stack.ts';
import { checkout } from './stack/paths.ts';

const usage = `Usage: npm run demo [-- --files <count> --through <runner>]
  --files <count>     number of files of node_modules to hash (6000)
  --through <runner>  worker: four processes claim over HTTP (default)
                      consumer: the demo's own Worker runs them in workerd
                      push: they are pushed to a receiver, signed`;

const runners = { worker: byWorker, consumer: byConsumer, push: byPush };
type RunnerName = keyof typeof runners;

const batch = 500;
const run = crypto.randomUUID();
const print = (line: string) => process.stdout.write(`${line}\n`);

async function enqueue(call: Api, queue: string, paths: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (let offset = 0; offset < paths.length; offset += batch) {
    const tasks = paths.slice(offset, offset + batch).map((path) => ({ payload: { path } }));
    const body = { tasks, request_id: `${run}:${offset}` };
    ids.push(...(await expectOk<{ ids: string[] }>(call(`/v1/queues/${queue}/tasks`, body))).ids);
  }
  return ids;
}

/** Returns true if runs were lost. With workers it also prints which job reaped them. */
async function reportReaped(
  runner: RunnerName,
  stack: Stack,
  lost: Run[],
  failed: number,
): Promise<boolean> {
  if (lost.length === 0 && (runner !== 'push' || failed === 0)) {
    print('No run was lost: the kill came too late. Run the demo again.');
    return false;
  }
  if (runner === 'push') print(`${failed} pushes got no answer, and were repeated.`);
  if (runner !== 'worker') return true;
  const reapers = await findReapers(stack.DATABASE_URL, lost);
  const byCron = !reapers.includes(null);
  if (byCron) print(`The lost runs were reaped by pg_cron's ${reapers.join(' and ')}.`);
  else print("The lost runs were reaped by the Worker's alarm, before pg_cron ran.");
  return true;
}

async function demo(runner: RunnerName, files: number, signal: AbortSignal): Promise<boolean> {
  const stack = await useStack(signal);
  try {
    const call = api(stack.TOCK_URL, stack.TOCK_KEY);
    const paths = realFiles(checkout, files);
    let started = 0;
    const ids = await runners[runner](
      stack,
      call,
      {
        root: checkout,
        paths,
        enqueue(callApi, queue) {
          started = performance.now();
          print(
            `Enqueueing ${paths.length} files of node_modules into the queue ${queue} over HTTP.`,
          );
          return enqueue(callApi, queue, paths);
        },
      },
      signal,
    );
    const seconds = Number(((performance.now() - started) / 1000).toFixed(1));
    print('All done. Comparing every result with its file.');
    const verdict = await check(call, ids, paths, checkout, signal);
    const { runs, lost, failed, released, right, wrong } = verdict;
    for (const line of wrong.slice(0, 10)) print(`wrong: ${line}`);
    const allReaped = await reportReaped(runner, stack, lost, failed);
    const tasks = new Set(ids).size;
    const counts = { lost: lost.length, failed, released, right, wrong: wrong.length };
    process.stdout.write(figures({ tasks, runs, ...counts, seconds }));
    return wrong.length === 0 && right === paths.length && tasks === right && allReaped;
  } finally {
    await stack.stop();
  }
}

const options = {
  files: { type: 'string', default: '6000' },
  through: { type: 'string', default: 'worker' },
  help: { type: 'boolean', short: 'h' },
} as const;

async function main(): Promise<number> {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => controller.abort(new Error('Stopped.')));
  }
  try {
    const { values } = parseArgs({ options });
    const files = Number(values.files);
    if (values.help || !Number.isInteger(files) || files < 100) {
      print(values.help ? usage : `--files must be a whole number of at least 100.\n${usage}`);
      return values.help ? 0 : 2;
    }
    if (!Object.hasOwn(runners, values.through)) {
      print(`--through must be one of ${Object.keys(runners).join(', ')}.\n${usage}`);
      return 2;
    }
    return (await demo(values.through as RunnerName, files, controller.signal)) ? 0 : 1;
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    process.stderr.write(`${message}\n`);
    return controller.signal.aborted ? 130 : code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
  }
}

process.exit(await main());
