import { type Command, Option } from 'commander';
import { withDatabase } from '../connect.ts';
import { ask } from '../doors/ask.ts';
import { Failure } from '../failure.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { table } from '../table.ts';

type Key = {
  prefix: string;
  name: string;
  scopes: string[];
  queues: string[] | null;
  created_at: Date;
  revoked_at?: Date | null;
};

const scopes = ['enqueue', 'claim', 'read', 'admin'];

/** `--scope a,b --scope c` and `--scope a b c` say the same. */
const list = (value: string, before: string[] = []) => [
  ...before,
  ...value.split(',').filter(Boolean),
];

const day = (at?: Date | null) => at?.toISOString().slice(0, 10);

async function create(name: string, options: Options<{ scope: string[]; queue?: string[] }>) {
  const [key] = await withDatabase(databaseUrl(options), (client) =>
    ask<Key & { key: string }>(
      client,
      `select key, prefix, name, scopes, queues, created_at
       from tock.create_key(p_name => $1, p_scopes => $2, p_queues => $3)`,
      [name, options.scope, options.queue ?? null],
    ),
  );
  print(options, key, () => `${key?.key}\nThis key is shown this once: keep it now.\n`);
}

async function show(options: Options) {
  const keys = await withDatabase(databaseUrl(options), (client) =>
    ask<Key>(
      client,
      'select prefix, name, scopes, queues, created_at, revoked_at from tock.keys_list()',
    ),
  );
  const rows = keys.map((key) => [
    key.prefix,
    key.name,
    key.scopes.join(),
    key.queues?.join() ?? 'all',
    day(key.created_at),
    day(key.revoked_at),
  ]);
  print(options, keys, () =>
    table([['prefix', 'name', 'scopes', 'queues', 'created', 'revoked'], ...rows]),
  );
}

async function revoke(prefix: string, options: Options) {
  const [row] = await withDatabase(databaseUrl(options), (client) =>
    ask<{ revoked: boolean }>(client, 'select tock.revoke_key(p_prefix => $1) as revoked', [
      prefix,
    ]),
  );
  if (!row?.revoked) {
    throw new Failure(`There is no key with the prefix ${prefix}.`, 'See: tock key list', 3);
  }
  print(options, { prefix, revoked: true }, () => `Revoked ${prefix}.\n`);
}

export function addKey(program: Command): void {
  const key = program.command('key').description('the keys of the HTTP door');
  const scope = new Option('--scope <scope>', `${scopes.join(', ')}: repeat it, or use commas`);
  key
    .command('create <name>')
    .description('make a key and show it, this once')
    .addOption(scope.argParser(list).makeOptionMandatory())
    .option('--queue <queue>', 'only for this queue; may be given several times', list)
    .action((name: string, _given, command: Command) => create(name, optionsOf(command)));
  key
    .command('list')
    .description('all keys, but for their secret part')
    .action((_given, command: Command) => show(optionsOf(command)));
  key
    .command('revoke <prefix>')
    .description('end a key at once')
    .action((prefix: string, _given, command: Command) => revoke(prefix, optionsOf(command)));
}
