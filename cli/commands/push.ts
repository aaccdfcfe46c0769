import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { number } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Flags = { rotate?: boolean; overlap?: number };

function described({
  secret,
  previous,
  previous_until,
}: Answer<'GET /v1/queues/{queue}/push-secret'>): string {
  const until = previous_until ? `${previous_until.slice(0, 19)}Z` : '';
  return [
    `${secret}\n`,
    ...previous.map((previousSecret) => `${previousSecret} until ${until}\n`),
  ].join('');
}

/** The database stores no secret: this process derives it from TOCK_PUSH_SECRET, as the Worker does. */
function requireSecret(api: Api): void {
  if (!api.isLocal || process.env.TOCK_PUSH_SECRET?.trim()) return;
  const next = "Set it to the Worker's secret, or ask the Worker: --url and --key.";
  throw new Failure(
    'TOCK_PUSH_SECRET is not set here, and the database stores no secret.',
    next,
    2,
  );
}

async function pushSecret(queue: string, options: Options<Flags>): Promise<void> {
  const { rotate, overlap } = options;
  if (overlap !== undefined && !rotate) {
    throw new Failure('--overlap needs --rotate.', undefined, 2);
  }
  const path = { queue };
  const body = { overlap_seconds: overlap };
  const answer = await withApi(options, (api) => {
    requireSecret(api);
    return rotate
      ? api.find('POST /v1/queues/{queue}/push-secret/rotate', { path, body })
      : api.find('GET /v1/queues/{queue}/push-secret', { path });
  });
  if (!answer) throw new Failure(`There is no queue ${queue}.`, 'See: tock status', 3);
  print(options, answer, () => described(answer));
}

export function addPush(program: Command): void {
  program
    .command('push-secret <queue>')
    .description(
      "show the secret that signs a queue's pushes, and the previous one while it also signs",
    )
    .option(
      '--rotate',
      'rotate the secret; while the previous one still signs, show the current state',
    )
    .option(
      '--overlap <seconds>',
      'how long the previous secret also signs; default: a day',
      number,
    )
    .action((queue: string, _options, command: Command) => pushSecret(queue, optionsOf(command)));
}
