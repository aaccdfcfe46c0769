import { parseArgs } from 'node:util';
import { type Api, api, expectOk } from './demo/api.ts';
import { check } from './demo/check.ts';
import { figures } from './demo/figures.ts';
import { realFiles } from './demo/files.ts';
import { reapedBy } from './demo/reaper.ts';
import { shift } from './demo/shift.ts';
import { useStack } from './demo/stack.ts';
import { checkout } from './stack/place.ts';

const usage = `Usage: npm run demo [-- --files <count>]
  --files <count>   how many files of node_modules to hash (6000)`;

const batch = 500;
const say = (line: string) => process.stdout.write(`${line}\n`);

async function enqueue(call: Api, queue: string, paths: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < paths.length; at += batch) {
    const tasks = paths.slice(at, at + batch).map((path) => ({ payload: { path } }));
    const body = { tasks, request_id: `${queue}:${at}` };
    ids.push(...(await expectOk<{ ids: string[] }>(call(`/v1/queues/${queue}/tasks`, body))).ids);
  }
  return ids;
}

async function demo(files: number, signal: AbortSignal): Promise<boolean> {
  const stack = await useStack(signal);
  try {
    const call = api(stack.TOCK_URL, stack.TOCK_KEY);
    const paths = realFiles(checkout, files);
    const queue = `demo-${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`;
    const started = performance.now();
    say(`Enqueueing ${paths.length} files of node_modules into the queue ${queue} over HTTP.`);
    const ids = await enqueue(call, queue, paths);
    say('Four workers, processes of their own, claim them over HTTP.');
    const place = { url: stack.TOCK_URL, key: stack.TOCK_KEY, queue, root: checkout };
    await shift(call, place, ids.length, signal);
    const seconds = Number(((performance.now() - started) / 1000).toFixed(1));
    say('All done. Comparing every result with its file, read directly.');
    const { runs, lost, right, wrong } = await check(call, ids, paths, checkout, signal);
    for (const line of wrong.slice(0, 10)) say(`wrong: ${line}`);
    const reapers = lost.length > 0 ? await reapedBy(stack.DATABASE_URL, lost) : [];
    const byCron = lost.length > 0 && !reapers.includes(null);
    if (byCron) say(`The lost runs were taken back by pg_cron's ${reapers.join(' and ')}.`);
    else if (lost.length > 0) say('Some lost runs were not taken back by a job of pg_cron.');
    else say('No run was lost: the kill came too late. Run it again.');
    const distinct = new Set(ids).size;
    const table = { tasks: distinct, runs, lost: lost.length, right, wrong: wrong.length, seconds };
    process.stdout.write(figures(table));
    return wrong.length === 0 && right === paths.length && distinct === right && byCron;
  } finally {
    await stack.stop();
  }
}

const options = {
  files: { type: 'string', default: '6000' },
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
    return (await demo(files, controller.signal)) ? 0 : 1;
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    process.stderr.write(`${message}\n`);
    return controller.signal.aborted ? 130 : code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
  }
}

process.exit(await main());
