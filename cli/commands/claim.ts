import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { parseLossless } from '../../client/lossless_json.ts';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { checkedWeights, number, whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Given = {
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

/** At once, or when there is something, up to so many seconds later: a call waits for up to 30. */
async function waiting<T extends Claimed | ClaimedAny>(
  seconds: number,
  claim: (wait_seconds: number) => Promise<T>,
): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const claimed = await claim(Math.min(30, Math.max(0, Math.ceil((end - Date.now()) / 1000))));
    if (claimed.state === 'found' || Date.now() >= end) return claimed;
  }
}

/** For a shell to read: the lease, then a line for each task. JSON has neither tab nor newline in it. */
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

/** What goes with --own. */
function checkedOwner(
  others: string[],
  { worker, limit, weights, wait, requestId }: Given,
): string {
  const more = [limit, weights, wait, requestId].some((one) => one !== undefined);
  if (worker !== undefined && others.length === 0 && !more) return worker;
  throw new Failure(
    '--own is for one task of one queue, and needs --worker: leave out --limit, --weights, --wait and --request-id.',
    undefined,
    2,
  );
}

async function claim(queue: string, others: string[], options: Options<Given>) {
  const owner = options.own ? checkedOwner(others, options) : undefined;
  // The call is repeated when it isn't answered.
  const { limit, worker, lease, requestId = randomUUID(), wait = 0 } = options;
  const wish = { limit, worker, lease_seconds: lease, request_id: requestId };
  const queues = [queue, ...others];
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
      const body = { ...wish, wait_seconds };
      if (others.length === 0) {
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
    process.stderr.write(`Nothing to claim: ${state}. Try again in ${retry_after_seconds} s.\n`);
  }
}

export function addClaim(program: Command): void {
  program
    .command('claim <queue> [more...]')
    .description('lease ready tasks: prints the lease, then a line for each, id and payload')
    .option('--limit <n>', 'so many at most, 1 to 10000 (1)', whole(1, 10_000))
    .option('--weights <n,...>', 'of several queues: whole numbers from 1 to 1000, one for each')
    .option('--wait <seconds>', 'when nothing is ready, wait for it so long at most', number)
    .option(
      '--lease <seconds>',
      "how long they are leased, 1 to 86400; else the queue's",
      whole(1, 86_400),
    )
    .option('--worker <name>', 'who works on them, as tock task shows it')
    .option('--own', 'the one that --worker has, while its lease is open; else one')
    .option('--request-id <id>', 'a repeat with the same id gives the same lease (24 hours)')
    .addHelpText(
      'after',
      `
Prints nothing when nothing is ready, which is no failure. Then: tock complete, fail, release, extend.

Of several queues, up to 20, the first gives what it has, then the next what is left of --limit; with
--weights each call draws the order by them. Each queue's tasks have a lease of their own: they come
after a line with the lease, a tab and the queue.`,
    )
    .action((queue: string, more: string[], _given, command: Command) =>
      claim(queue, more, optionsOf(command)),
    );
}
