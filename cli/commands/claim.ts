import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { parseLossless } from '../../client/lossless_json.ts';
import { processName } from '../../client/node.ts';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { checkedWeights, number, wholeNumber } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Flags = {
  limit?: number;
  weights?: string;
  worker?: string;
  lease?: number;
  wait?: number;
  requestId?: string;
  own?: boolean;
};

type Claimed = Answer<'POST /v1/queues/{queue}/claim'>;
type ClaimedAny = Answer<'POST /v1/claim'>;

/** Repeats claims that wait up to 30 seconds, until there are tasks or the time is up. With 0 seconds claims once. */
async function waiting<T extends Claimed | ClaimedAny>(
  seconds: number,
  claim: (wait_seconds: number) => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const claimed = await claim(
      Math.min(30, Math.max(0, Math.ceil((deadline - Date.now()) / 1000))),
    );
    if (claimed.state === 'found' || Date.now() >= deadline) return claimed;
  }
}

/** Output for shells: the lease, then one line for each task. JSON text contains no tab and no newline. */
function lines(lease: string, tasks: Claimed['tasks']): string {
  return [lease, ...tasks.map(({ id, payload }) => `${id}\t${JSON.stringify(payload)}`), ''].join(
    '\n',
  );
}

function text(claimed: Claimed | ClaimedAny): string {
  if ('leases' in claimed) {
    return claimed.leases
      .map(({ lease, queue, tasks }) => lines(`${lease}\t${queue}`, tasks))
      .join('');
  }
  return claimed.lease ? lines(claimed.lease, claimed.tasks) : '';
}

/** The worker for --own, which allows only some of the options. */
function checkedOwner(
  otherQueues: string[],
  { worker, limit, weights, wait, requestId }: Flags,
): string {
  const hasOtherOptions = [limit, weights, wait, requestId].some((option) => option !== undefined);
  if (worker !== undefined && otherQueues.length === 0 && !hasOtherOptions) return worker;
  throw new Failure(
    '--own is for one task of one queue, and needs --worker: leave out --limit, --weights, --wait and --request-id.',
    undefined,
    2,
  );
}

async function claim(queue: string, otherQueues: string[], options: Options<Flags>) {
  const owner = options.own ? checkedOwner(otherQueues, options) : undefined;
  // The client may retry the call, so it has a request id. A repeat with one must have the same worker.
  const { limit, lease, requestId = randomUUID(), wait = 0 } = options;
  const worker = options.worker ?? (options.requestId ? undefined : processName(process.ppid));
  const claimBody = { limit, worker, lease_seconds: lease, request_id: requestId };
  const queues = [queue, ...otherQueues];
  const weights =
    options.weights === undefined ? undefined : checkedWeights(options.weights, queues.length);
  const parse = parseLossless;
  const claimed = await withApi(options, (api: Api): Promise<Claimed | ClaimedAny> => {
    const path = { queue };
    if (owner !== undefined) {
      const body = { worker: owner, lease_seconds: lease };
      return api.call('POST /v1/queues/{queue}/claim-for-worker', { path, body, parse });
    }
    return waiting<Claimed | ClaimedAny>(wait, (wait_seconds) => {
      const body = { ...claimBody, wait_seconds };
      if (otherQueues.length === 0) {
        return api.call('POST /v1/queues/{queue}/claim', { path, body, parse });
      }
      const several = weights
        ? queues.map((queue, n) => ({ queue, weight: weights[n] ?? 1 }))
        : queues;
      return api.call('POST /v1/claim', { body: { ...body, queues: several }, parse });
    });
  });
  print(options, claimed, () => text(claimed));
  if (claimed.state !== 'found' && !options.json) {
    const { state, retry_after_seconds } = claimed;
    process.stderr.write(`Nothing to claim: ${state}. Retry in ${retry_after_seconds} s.\n`);
  }
}

export function addClaim(program: Command): void {
  program
    .command('claim <queue> [more...]')
    .description(
      'lease ready tasks: prints the lease, then one line for each task with its id and payload',
    )
    .option(
      '--limit <n>',
      'maximum number of tasks, 1 to 10000 (default 1)',
      wholeNumber(1, 10_000),
    )
    .option(
      '--weights <n,...>',
      'weights of several queues: one whole number from 1 to 1000 for each',
    )
    .option('--wait <seconds>', 'how long to wait for tasks if none is ready', number)
    .option(
      '--lease <seconds>',
      "lease duration, 1 to 86400 (default: the queue's)",
      wholeNumber(1, 86_400),
    )
    .option(
      '--worker <name>',
      'name of the worker, as tock task shows it (default: host and id of the calling process)',
    )
    .option('--own', 'return the open lease of --worker, or lease one task')
    .option(
      '--request-id <id>',
      'with the same id a repeated call returns the same lease (for 24 hours)',
    )
    .addHelpText(
      'after',
      `
Prints nothing if no task is ready, with exit code 0. Then: tock complete, fail, release, extend.

With several queues, up to 20, the first queue is claimed from first, then the next, up to --limit; with
--weights each call draws the queue order. Each queue's tasks have their own lease: they follow
a line with the lease, a tab and the queue.`,
    )
    .action((queue: string, hasOtherOptions: string[], _options, command: Command) =>
      claim(queue, hasOtherOptions, optionsOf(command)),
    );
}
