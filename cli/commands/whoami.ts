import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

async function whoami(options: Options) {
  const key = await withApi(options, (api) => {
    if (!api.isLocal) return api.call('GET /v1/key');
    const next = 'Give --url and --key; in SQL the role of the connection applies.';
    throw new Failure('whoami shows a key, and this command goes to the database.', next, 2);
  });
  const list = (values: string[] | null) => values?.join(', ') ?? 'all';
  print(options, key, () =>
    table([
      ['key', 'name', 'may', 'queues', 'tenants', 'ends'],
      [
        key.prefix,
        key.name,
        key.scopes.join(', '),
        list(key.queues),
        list(key.tenants),
        moment(key.expires_at),
      ],
    ]),
  );
}

export function addWhoami(program: Command): void {
  program
    .command('whoami')
    .description('show the scopes and limits of the key')
    .action((_options, command: Command) => whoami(optionsOf(command)));
}
