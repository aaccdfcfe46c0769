import type { Command } from 'commander';
import { throughDoor } from '../doors/door.ts';
import type { PushSecret } from '../doors/push.ts';
import { Failure } from '../failure.ts';
import { number } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Given = { rotate?: boolean; overlap?: number };

function described({ secret, previous, previous_until }: PushSecret): string {
  const until = previous_until ? `${previous_until.slice(0, 19)}Z` : '';
  return [`${secret}\n`, ...previous.map((one) => `${one} until ${until}\n`)].join('');
}

async function pushSecret(queue: string, options: Options<Given>): Promise<void> {
  const { rotate, overlap } = options;
  if (overlap !== undefined && !rotate) {
    throw new Failure('--overlap is for --rotate.', undefined, 2);
  }
  const found = await throughDoor(options, (door) =>
    rotate ? door.rotatePushSecret(queue, overlap) : door.pushSecret(queue),
  );
  if (!found) throw new Failure(`There is no queue ${queue}.`, 'See: tock status', 3);
  print(options, found, () => described(found));
}

export function addPush(program: Command): void {
  program
    .command('push-secret <queue>')
    .description("the secret that signs a queue's pushes, and the one before while that signs too")
    .option('--rotate', 'make another; while the one before still signs, show what is')
    .option('--overlap <seconds>', 'how long the one before signs too: a day by default', number)
    .action((queue: string, _given, command: Command) => pushSecret(queue, optionsOf(command)));
}
