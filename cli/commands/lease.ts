import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { checkedId, checkedLease, jsonArgument, number, wholeNumber } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { moment, plural } from '../table.ts';

type Completing = { result?: string; stage?: string; end?: boolean; spawn?: string };
type Failing = { error?: string; retryIn?: number; fatal?: boolean };
type Extending = { lease?: number; progress?: number; note?: string };

/** One entry with the fields for each id. */
const forEachId = <T extends object>(ids: string[], fields: T) =>
  ids.map((id) => ({ id, ...fields }));

/** Builds complete's results as JSON text, which keeps its exact form. */
function results(ids: string[], jsonFields: Record<string, string | undefined>): string {
  if (ids.length === 0) return '{}';
  const entries = Object.entries(jsonFields).filter(([, json]) => json !== undefined);
  const fields = entries.map(([name, json]) => `,"${name}":${json}`).join('');
  return `{"results":[${ids.map((id) => `{"id":"${id}"${fields}}`)}]}`;
}

/** Calls a verb, prints its answer, and fails if the verb refused some ids. */
async function endTasks<T extends { refused: string[] }>(
  options: Options,
  idTexts: string[],
  call: (api: Api, ids: string[]) => Promise<T>,
  describe: (answer: T) => string,
) {
  const ids = [...new Set(idTexts.map(checkedId))];
  const answer = await withApi(options, (api) => call(api, ids));
  print(options, answer, () => describe(answer));
  const { refused } = answer;
  if (refused.length === 0) return;
  throw new Failure(
    `${refused.length} of ${ids.length} ids do not belong to this lease, or had ended differently: ${refused.join(', ')}.`,
  );
}

async function complete(leaseText: string, ids: string[], options: Options<Completing>) {
  const lease = checkedLease(leaseText);
  if (options.result !== undefined && ids.length === 0) {
    throw new Failure('--result is for single tasks: give the id after the lease.', undefined, 2);
  }
  if ((options.stage ?? options.end) !== undefined && ids.length === 0) {
    throw new Failure(
      '--stage and --end are for single tasks: give the id after the lease.',
      undefined,
      2,
    );
  }
  if (options.stage !== undefined && options.end) {
    throw new Failure('--stage and --end exclude each other: give one.', undefined, 2);
  }
  if (options.spawn !== undefined && ids.length !== 1) {
    throw new Failure('--spawn is for a single task: give the id after the lease.', undefined, 2);
  }
  const stage = options.end ? 'null' : options.stage && JSON.stringify(options.stage);
  const result = options.result && (await jsonArgument(options.result, 'The result'));
  const spawn = options.spawn && (await jsonArgument(options.spawn, 'The value of --spawn'));
  await endTasks(
    options,
    ids,
    (api, checkedIds) =>
      api.call('POST /v1/leases/{lease}/complete', {
        path: { lease },
        body: results(checkedIds, { result, stage, spawn }),
      }),
    ({ completed }) => `${completed} completed\n`,
  );
}

async function fail(leaseText: string, ids: string[], options: Options<Failing>) {
  const lease = checkedLease(leaseText);
  const { error, retryIn, fatal } = options;
  const message = error === '-' ? (await text(process.stdin)).trimEnd() : error;
  const outcome = {
    ...(message !== undefined && { error: { message } }),
    ...(retryIn !== undefined && { retry_in_seconds: retryIn }),
    ...(fatal && { fatal }),
  };
  await endTasks(
    options,
    ids,
    (api, checkedIds) =>
      api.call('POST /v1/leases/{lease}/fail', {
        path: { lease },
        body: checkedIds.length === 0 ? outcome : { failures: forEachId(checkedIds, outcome) },
      }),
    ({ failed, dead: deadCount }) => `${failed} failed, ${deadCount} of them dead\n`,
  );
}

async function release(leaseText: string, ids: string[], options: Options) {
  const lease = checkedLease(leaseText);
  await endTasks(
    options,
    ids,
    (api, checkedIds) =>
      api.call('POST /v1/leases/{lease}/release', {
        path: { lease },
        body: checkedIds.length === 0 ? {} : { ids: checkedIds },
      }),
    ({ released }) => `${released} released\n`,
  );
}

async function extend(leaseText: string, ids: string[], options: Options<Extending>) {
  const lease = checkedLease(leaseText);
  const { lease: seconds, progress, note } = options;
  const progressFields = progress === undefined && note === undefined ? null : { progress, note };
  if (ids.length > 0 && !progressFields) {
    throw new Failure(
      'An extension concerns the whole lease: give ids only with --progress or --note.',
      undefined,
      2,
    );
  }
  await endTasks(
    options,
    ids,
    (api, checkedIds) =>
      api.call('POST /v1/leases/{lease}/extend', {
        path: { lease },
        body: {
          lease_seconds: seconds,
          ...(progressFields && {
            progress:
              checkedIds.length === 0 ? progressFields : forEachId(checkedIds, progressFields),
          }),
        },
      }),
    ({ leased_until, runs, cancel }) =>
      [
        `${plural(runs, 'task is', 'tasks are')} leased until ${moment(leased_until)}`,
        ...cancel.map((id) => `${id} is cancelled: stop working on it`),
        '',
      ].join('\n'),
  );
}

export function addLease(program: Command): void {
  program
    .command('complete <lease> [id...]')
    .description("complete a lease's tasks: those given, or all that are left")
    .option('--result <json>', 'result of each task; "-" reads it from stdin')
    .option('--stage <queue>', 'the pipeline stage to continue in; default: the next stage')
    .option('--end', 'end the pipeline here')
    .option(
      '--spawn <json>',
      'tasks to add, {queue, tasks, wait}; with wait the task continues when they have ended; "-" reads stdin',
    )
    .action((lease: string, ids: string[], _options, command: Command) =>
      complete(lease, ids, optionsOf(command)),
    );
  program
    .command('fail <lease> [id...]')
    .description("fail a lease's tasks: those given, or all that are left")
    .option('--error <text>', 'the error; "-" reads it from stdin')
    .option('--retry-in <seconds>', 'delay of the next attempt; default: the backoff', number)
    .option('--fatal', 'do not retry')
    .action((lease: string, ids: string[], _options, command: Command) =>
      fail(lease, ids, optionsOf(command)),
    );
  program
    .command('release <lease> [id...]')
    .description('release tasks without counting an attempt: those given, or all that are left')
    .action((lease: string, ids: string[], _options, command: Command) =>
      release(lease, ids, optionsOf(command)),
    );
  program
    .command('extend <lease> [id...]')
    .description('extend a lease, record progress, and list its cancelled tasks')
    .option(
      '--lease <seconds>',
      "new duration from now, 1 to 86400; default: the queue's",
      wholeNumber(1, 86_400),
    )
    .option('--progress <0-100>', 'progress of the given tasks, or of all', number)
    .option('--note <text>', 'text beside the progress, up to 500 characters')
    .action((lease: string, ids: string[], _options, command: Command) =>
      extend(lease, ids, optionsOf(command)),
    );
}
