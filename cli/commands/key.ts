import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withDatabasePreferred } from '../api.ts';
import { number, wholeNumber } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type NewKey = Answer<'POST /v1/keys'>;
type Rate = [limit: number, seconds: number] | 'none';

const scopes = ['enqueue', 'claim', 'read', 'admin'];

/** `--scope a,b --scope c` and `--scope a b c` mean the same. */
const list = (value: string, values: string[] = []) => [
  ...values,
  ...value.split(',').filter(Boolean),
];

const formatRate = (key: Pick<NewKey, 'rate_limit' | 'rate_seconds'>) =>
  key.rate_limit && `${key.rate_limit}/${key.rate_seconds}`;

/** Parses a rate: 100/60 means a hundred requests in a minute. */
function rate(value: string): Rate {
  if (value === 'none') return value;
  const [, limit, seconds = 1] = /^(\d+)(?:\/(\d+))?$/.exec(value) ?? [];
  if (!limit)
    throw new InvalidArgumentError('A rate has the form requests/seconds, such as 100/60.');
  return [Number(limit), Number(seconds)];
}

const secondsOrNever = (value: string) => (value === 'never' ? value : number(value));

type Created = {
  scope: string[];
  queue?: string[];
  tenant?: string[];
  expiresIn?: number;
  rate?: Rate;
};

const describe = ({ key }: NewKey) => `${key}\nThis key is shown only once: store it now.\n`;

async function create(name: string, options: Options<Created>) {
  const { scope, queue, tenant, expiresIn } = options;
  const [rate_limit, rate_seconds] = options.rate && options.rate !== 'none' ? options.rate : [];
  const limits = { expires_in_seconds: expiresIn, rate_limit, rate_seconds };
  const body = { name, scopes: scope, queues: queue, tenants: tenant, ...limits };
  const key = await withDatabasePreferred(options, (api) =>
    api.call('POST /v1/keys', { body, once: true }),
  );
  print(options, key, () => describe(key));
}

async function rotate(prefix: string, options: Options<{ overlap?: number }>) {
  const body = { overlap_seconds: options.overlap ?? 86_400 };
  const key = await withDatabasePreferred(options, (api) =>
    api.find('POST /v1/keys/{prefix}/rotate', { path: { prefix: checkedPrefix(prefix) }, body }),
  );
  if (!key) throw unknownKey(prefix);
  print(options, key, () => describe(key));
}

type Changed = { name?: string; expiresIn?: number | 'never'; rate?: Rate };

async function change(prefix: string, options: Options<Changed>) {
  const { name, expiresIn, rate } = options;
  const [limit, seconds] = rate === 'none' ? [null, null] : (rate ?? []);
  const changes = {
    ...(name !== undefined && { name }),
    ...(expiresIn === 'never' && { expires_at: null }),
    ...(typeof expiresIn === 'number' && { expires_in_seconds: expiresIn }),
    ...(rate && { rate_limit: limit, rate_seconds: seconds }),
  };
  if (Object.keys(changes).length === 0) {
    throw new Failure('Give at least one of --name, --expires-in and --rate.', undefined, 2);
  }
  const key = await withDatabasePreferred(options, (api) =>
    api.find('PATCH /v1/keys/{prefix}', { path: { prefix: checkedPrefix(prefix) }, body: changes }),
  );
  if (!key) throw unknownKey(prefix);
  print(options, key, () => `Changed ${prefix}.\n`);
}

const unknownKey = (prefix: string) =>
  new Failure(`There is no key with the prefix ${prefix}.`, 'See: tock key list', 3);

/** Throws for text that is not the prefix of a key. */
function checkedPrefix(prefix: string): string {
  if (/^tock_[0-9a-f]{8}$/.test(prefix)) return prefix;
  throw unknownKey(prefix);
}

async function listKeys(options: Options) {
  const { keys } = await withDatabasePreferred(options, (api) => api.call('GET /v1/keys'));
  const rows = keys.map((key) => [
    key.prefix,
    key.name,
    key.scopes.join(),
    key.queues?.join() ?? 'all',
    key.tenants?.join() ?? 'all',
    formatRate(key),
    moment(key.created_at),
    moment(key.last_used_at),
    moment(key.expires_at),
    moment(key.revoked_at),
    key.replaced_by,
  ]);
  const dates = ['created', 'last used', 'expires', 'revoked', 'replaced by'];
  print(options, keys, () =>
    table([['prefix', 'name', 'scopes', 'queues', 'tenants', 'rate', ...dates], ...rows]),
  );
}

async function revoke(prefix: string, options: Options) {
  const path = { prefix: checkedPrefix(prefix) };
  const revoked = await withDatabasePreferred(options, (api) =>
    api.find('DELETE /v1/keys/{prefix}', { path }),
  );
  if (!revoked) throw unknownKey(prefix);
  print(options, { prefix, revoked: true }, () => `Revoked ${prefix}.\n`);
}

export function addKey(program: Command): void {
  const key = program.command('key').description('manage API keys');
  const scope = new Option(
    '--scope <scope>',
    `${scopes.join(', ')}: repeat the option, or use commas`,
  );
  key
    .command('create <name>')
    .description('create a key and show it once')
    .addOption(scope.argParser(list).makeOptionMandatory())
    .option('--queue <queue>', 'only for this queue; may be repeated', list)
    .option('--tenant <tenant>', "only for this tenant's tasks; may be repeated", list)
    .option('--expires-in <seconds>', 'lifetime; default: no expiry', number)
    .option('--rate <n/seconds>', 'maximum number of requests in a number of seconds', rate)
    .action((name: string, _options, command: Command) => create(name, optionsOf(command)));
  key
    .command('list')
    .description('list all keys, without their secrets')
    .action((_options, command: Command) => listKeys(optionsOf(command)));
  key
    .command('rotate <prefix>')
    .description('create a key that replaces this one, and show it once')
    .option(
      '--overlap <seconds>',
      'remaining lifetime of the old key; default: a day',
      wholeNumber(0, 2_678_400),
    )
    .action((prefix: string, _options, command: Command) => rotate(prefix, optionsOf(command)));
  key
    .command('change <prefix>')
    .description("change a key's name, expiry or rate")
    .option('--name <name>', 'new name')
    .option('--expires-in <seconds>', 'lifetime from now, or never', secondsOrNever)
    .option('--rate <n/seconds>', 'requests/seconds, or none', rate)
    .action((prefix: string, _options, command: Command) => change(prefix, optionsOf(command)));
  key
    .command('revoke <prefix>')
    .description('revoke a key at once')
    .action((prefix: string, _options, command: Command) => revoke(prefix, optionsOf(command)));
}
