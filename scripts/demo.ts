import { parseArgs } from 'node:util';
import { type Api, api, expectOk } from './demo/api.ts';
import { byConsumer } from './demo/by_consumer.ts';
import { byPush } from './demo/by_push.ts';
import { byWorker } from './demo/by_worker.ts';
import { check, type Run } from './demo/check.ts';
import { figures } from './demo/figures.ts';
import { realFiles } from './demo/files.ts';
import { reapedBy } from './demo/reaper.ts';
import { type Stack, useStack } from './demo/stack.ts';
import { checkout } from './stack/place.ts';

const usage = `Usage: npm run demo [-- --files <count> --through <way>]
  --files <count>   how many files of node_modules to hash (6000)
  --through <way>   worker: four processes claim over HTTP (as it is unless you say otherwise)
                    consumer: a Worker of the demo's own does it in workerd
                    push: they are pushed to a receiver, signed`;

const ways = { worker: byWorker, consumer: byConsumer, push: byPush };
type Way = keyof typeof ways;

const batch = 500;
const run = crypto.randomUUID();
const say = (line: string) => process.stdout.write(`${line}\n`);

async function enqueue(call: Api, queue: string, paths: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < paths.length; at += batch) {
    const tasks = paths.slice(at, at + batch).map((path) => ({ payload: { path } }));
    const body = { tasks, request_id: `${run}:${at}` };
    ids.push(...(await expectOk<{ ids: string[] }>(call(`/v1/queues/${queue}/tasks`, body))).ids);
  }
  return ids;
}

/** Whether runs were lost; of a worker's it says who took them back. */
async function takenBack(way: Way, stack: Stack, lost: Run[], failed: number): Promise<boolean> {
  if (lost.length === 0 && (way !== 'push' || failed === 0)) {
    say('No run was lost: the kill came too late. Run it again.');
    return false;
  }
  if (way === 'push') say(`${failed} pushes had no answer, and were made again.`);
  if (way !== 'worker') return true;
  const reapers = await reapedBy(stack.DATABASE_URL, lost);
  const byCron = !reapers.includes(null);
  if (byCron) say(`The lost runs were taken back by pg_cron's ${reapers.join(' and ')}.`);
  else say("The lost runs were taken back by the Worker's alarm, before pg_cron came.");
  return true;
}

async function demo(way: Way, files: number, signal: AbortSignal): Promise<boolean> {
  const stack = await useStack(signal);
  try {
    const call = api(stack.TOCK_URL, stack.TOCK_KEY);
    const paths = realFiles(checkout, files);
    let started = 0;
    const ids = await ways[way](
      stack,
      call,
      {
        root: checkout,
        paths,
        enqueue(door, queue) {
          started = performance.now();
          say(
            `Enqueueing ${paths.length} files of node_modules into the queue ${queue} over HTTP.`,
          );
          return enqueue(door, queue, paths);
        },
      },
      signal,
    );
    const seconds = Number(((performance.now() - started) / 1000).toFixed(1));
    say('All done. Comparing every result with its file, read directly.');
    const verdict = await check(call, ids, paths, checkout, signal);
    const { runs, lost, failed, right, wrong } = verdict;
    for (const line of wrong.slice(0, 10)) say(`wrong: ${line}`);
    const found = await takenBack(way, stack, lost, failed);
    const tasks = new Set(ids).size;
    const counts = { lost: lost.length, failed, right, wrong: wrong.length };
    process.stdout.write(figures({ tasks, runs, ...counts, seconds }));
    return wrong.length === 0 && right === paths.length && tasks === right && found;
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
      say(values.help ? usage : `--files is a whole number from 100 on.\n${usage}`);
      return values.help ? 0 : 2;
    }
    if (!Object.hasOwn(ways, values.through)) {
      say(`--through is ${Object.keys(ways).join(', ')}.\n${usage}`);
      return 2;
    }
    return (await demo(values.through as Way, files, controller.signal)) ? 0 : 1;
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    process.stderr.write(`${message}\n`);
    return controller.signal.aborted ? 130 : code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
  }
}

process.exit(await main());
