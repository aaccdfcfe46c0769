import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { number } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Given = { rotate?: boolean; overlap?: number };

function described({
  secret,
  previous,
  previous_until,
}: Answer<'GET /v1/queues/{queue}/push-secret'>): string {
  const until = previous_until ? `${previous_until.slice(0, 19)}Z` : '';
  return [`${secret}\n`, ...previous.map((one) => `${one} until ${until}\n`)].join('');
}

/** The database has no secret: in this process it is made of the same word as the Worker's. */
function mustHaveSecret(api: Api): void {
  if (!api.isLocal || process.env.TOCK_PUSH_SECRET?.trim()) return;
  const next = "Set it to the Worker's, or ask the Worker: --url and --key.";
  throw new Failure('There is no TOCK_PUSH_SECRET here, and the database has none.', next, 2);
}

async function pushSecret(queue: string, options: Options<Given>): Promise<void> {
  const { rotate, overlap } = options;
  if (overlap !== undefined && !rotate) {
    throw new Failure('--overlap is for --rotate.', undefined, 2);
  }
  const path = { queue };
  const body = { overlap_seconds: overlap };
  const found = await withApi(options, (api) => {
    mustHaveSecret(api);
    return rotate
      ? api.find('POST /v1/queues/{queue}/push-secret/rotate', { path, body })
      : api.find('GET /v1/queues/{queue}/push-secret', { path });
  });
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
