import type { Command } from 'commander';
import { throughDoor } from '../doors/door.ts';
import type { Claimed } from '../doors/leases.ts';
import { number, whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Given = {
  limit?: number;
  worker?: string;
  lease?: number;
  wait?: number;
  requestId?: string;
};

/** For a shell to read: the lease, then a line for each task. JSON has neither tab nor newline in it. */
function lines({ lease, tasks }: Claimed): string {
  return [lease, ...tasks.map(({ id, payload }) => `${id}\t${JSON.stringify(payload)}`), ''].join(
    '\n',
  );
}

async function claim(queue: string, options: Options<Given>) {
  const { limit, worker, lease, requestId } = options;
  const wish = { limit, worker, lease_seconds: lease, request_id: requestId };
  const claimed = await throughDoor(options, (door) => door.claim(queue, wish, options.wait ?? 0));
  print(options, claimed, () => (claimed.lease ? lines(claimed) : ''));
  if (!claimed.lease && !options.json) {
    const { state, retry_after_seconds } = claimed;
    process.stderr.write(`Nothing to claim: ${state}. Try again in ${retry_after_seconds} s.\n`);
  }
}

export function addClaim(program: Command): void {
  program
    .command('claim <queue>')
    .description('lease ready tasks: prints the lease, then a line for each, id and payload')
    .option('--limit <n>', 'so many at most, 1 to 10000 (1)', whole(1, 10_000))
    .option('--wait <seconds>', 'when nothing is ready, wait for it so long at most', number)
    .option(
      '--lease <seconds>',
      "how long they are leased, 1 to 86400; else the queue's",
      whole(1, 86_400),
    )
    .option('--worker <name>', 'who works on them, as tock task shows it')
    .option('--request-id <id>', 'a repeat with the same id gives the same lease (24 hours)')
    .addHelpText(
      'after',
      '\nPrints nothing when nothing is ready, which is no failure. Then: tock complete, fail, release, extend.',
    )
    .action((queue: string, _given, command: Command) => claim(queue, optionsOf(command)));
}
