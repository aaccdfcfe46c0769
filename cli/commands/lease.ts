import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { checkedId, checkedLease, givenJson, number, whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { moment, some } from '../table.ts';

type Completing = { result?: string; stage?: string; end?: boolean; spawn?: string };
type Failing = { error?: string; retryIn?: number; fatal?: boolean };
type Extending = { lease?: number; progress?: number; note?: string };

/** One for all that are left, or one for each id. */
const each = <T extends object>(ids: string[], said: T) => ids.map((id) => ({ id, ...said }));

/** What complete takes of a task, each as JSON text, which goes on as it was typed. */
function results(ids: string[], given: Record<string, string | undefined>): string {
  if (ids.length === 0) return '{}';
  const said = Object.entries(given).filter(([, json]) => json !== undefined);
  const fields = said.map(([name, json]) => `,"${name}":${json}`).join('');
  return `{"results":[${ids.map((id) => `{"id":"${id}"${fields}}`)}]}`;
}

/** Asks a verb, prints its answer, and fails when it refused some of the ids. */
async function end<T extends { refused: string[] }>(
  options: Options,
  given: string[],
  ask: (api: Api, ids: string[]) => Promise<T>,
  said: (answer: T) => string,
) {
  const ids = [...new Set(given.map(checkedId))];
  const answer = await withApi(options, (api) => ask(api, ids));
  print(options, answer, () => said(answer));
  const { refused } = answer;
  if (refused.length === 0) return;
  throw new Failure(
    `${refused.length} of ${ids.length} are not this lease's, or had ended otherwise: ${refused.join(', ')}.`,
  );
}

async function complete(given: string, ids: string[], options: Options<Completing>) {
  const lease = checkedLease(given);
  if (options.result !== undefined && ids.length === 0) {
    throw new Failure("--result is a task's own: give its id after the lease.", undefined, 2);
  }
  if ((options.stage ?? options.end) !== undefined && ids.length === 0) {
    throw new Failure(
      "--stage and --end are a task's own: give its id after the lease.",
      undefined,
      2,
    );
  }
  if (options.stage !== undefined && options.end) {
    throw new Failure('Give --stage or --end, not both.', undefined, 2);
  }
  if (options.spawn !== undefined && ids.length !== 1) {
    throw new Failure("--spawn is one task's own: give its id after the lease.", undefined, 2);
  }
  const stage = options.end ? 'null' : options.stage && JSON.stringify(options.stage);
  const result = options.result && (await givenJson(options.result, 'The result'));
  const spawn = options.spawn && (await givenJson(options.spawn, 'What is spawned'));
  await end(
    options,
    ids,
    (api, named) =>
      api.call('POST /v1/leases/{lease}/complete', {
        path: { lease },
        body: results(named, { result, stage, spawn }),
      }),
    ({ completed }) => `${completed} completed\n`,
  );
}

async function fail(given: string, ids: string[], options: Options<Failing>) {
  const lease = checkedLease(given);
  const { error, retryIn, fatal } = options;
  const message = error === '-' ? (await text(process.stdin)).trimEnd() : error;
  const outcome = {
    ...(message !== undefined && { error: { message } }),
    ...(retryIn !== undefined && { retry_in_seconds: retryIn }),
    ...(fatal && { fatal }),
  };
  await end(
    options,
    ids,
    (api, named) =>
      api.call('POST /v1/leases/{lease}/fail', {
        path: { lease },
        body: named.length === 0 ? outcome : { failures: each(named, outcome) },
      }),
    ({ failed, dead }) => `${failed} failed, ${dead} of them dead\n`,
  );
}

async function release(given: string, ids: string[], options: Options) {
  const lease = checkedLease(given);
  await end(
    options,
    ids,
    (api, named) =>
      api.call('POST /v1/leases/{lease}/release', {
        path: { lease },
        body: named.length === 0 ? {} : { ids: named },
      }),
    ({ released }) => `${released} released\n`,
  );
}

async function extend(given: string, ids: string[], options: Options<Extending>) {
  const lease = checkedLease(given);
  const { lease: seconds, progress, note } = options;
  const said = progress === undefined && note === undefined ? null : { progress, note };
  if (ids.length > 0 && !said) {
    throw new Failure(
      'A lease is extended as a whole: ids go with --progress or --note.',
      undefined,
      2,
    );
  }
  await end(
    options,
    ids,
    (api, named) =>
      api.call('POST /v1/leases/{lease}/extend', {
        path: { lease },
        body: {
          lease_seconds: seconds,
          ...(said && { progress: named.length === 0 ? said : each(named, said) }),
        },
      }),
    ({ leased_until, runs, cancel }) =>
      [
        `${some(runs, 'task is', 'tasks are')} leased until ${moment(leased_until)}`,
        ...cancel.map((id) => `${id} is to be cancelled: stop work on it`),
        '',
      ].join('\n'),
  );
}

export function addLease(program: Command): void {
  program
    .command('complete <lease> [id...]')
    .description("end a lease's tasks as done: those with an id, or all that are left")
    .option('--result <json>', 'what came of each; "-" reads it from stdin')
    .option('--stage <queue>', "the stage of their pipeline where they go on; else it's the next")
    .option('--end', 'they end here, whatever stages are left')
    .option(
      '--spawn <json>',
      'tasks to add, {queue, tasks, wait}; with wait it goes on when they have ended; "-" for stdin',
    )
    .action((lease: string, ids: string[], _given, command: Command) =>
      complete(lease, ids, optionsOf(command)),
    );
  program
    .command('fail <lease> [id...]')
    .description("end a lease's tasks as failed: those with an id, or all that are left")
    .option('--error <text>', 'why; "-" reads it from stdin')
    .option('--retry-in <seconds>', 'else as the backoff says', number)
    .option('--fatal', 'not to be tried again')
    .action((lease: string, ids: string[], _given, command: Command) =>
      fail(lease, ids, optionsOf(command)),
    );
  program
    .command('release <lease> [id...]')
    .description('give tasks back unharmed: those with an id, or all that are left')
    .action((lease: string, ids: string[], _given, command: Command) =>
      release(lease, ids, optionsOf(command)),
    );
  program
    .command('extend <lease> [id...]')
    .description('keep a lease, say how far its tasks are, and hear which are to be cancelled')
    .option(
      '--lease <seconds>',
      "so long from now, 1 to 86400; else as the queue's",
      whole(1, 86_400),
    )
    .option('--progress <0-100>', 'how far they are: those with an id, or all', number)
    .option('--note <text>', 'words beside it, up to 500 characters')
    .action((lease: string, ids: string[], _given, command: Command) =>
      extend(lease, ids, optionsOf(command)),
    );
}
