import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withDatabaseFirst } from '../api.ts';
import { number, whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type NewKey = Answer<'POST /v1/keys'>;
type Rate = [limit: number, seconds: number] | 'none';

const scopes = ['enqueue', 'claim', 'read', 'admin'];

/** `--scope a,b --scope c` and `--scope a b c` say the same. */
const list = (value: string, before: string[] = []) => [
  ...before,
  ...value.split(',').filter(Boolean),
];

const rateOf = (key: Pick<NewKey, 'rate_limit' | 'rate_seconds'>) =>
  key.rate_limit && `${key.rate_limit}/${key.rate_seconds}`;

/** 100/60: a hundred requests in a minute. */
function rate(value: string): Rate {
  if (value === 'none') return value;
  const [, limit, seconds = 1] = /^(\d+)(?:\/(\d+))?$/.exec(value) ?? [];
  if (!limit) throw new InvalidArgumentError('It is no rate, such as 100/60: so many in seconds.');
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

const shown = ({ key }: NewKey) => `${key}\nThis key is shown this once: keep it now.\n`;

async function create(name: string, options: Options<Created>) {
  const { scope, queue, tenant, expiresIn } = options;
  const [rate_limit, rate_seconds] = options.rate && options.rate !== 'none' ? options.rate : [];
  const limits = { expires_in_seconds: expiresIn, rate_limit, rate_seconds };
  const body = { name, scopes: scope, queues: queue, tenants: tenant, ...limits };
  const key = await withDatabaseFirst(options, (api) =>
    api.call('POST /v1/keys', { body, once: true }),
  );
  print(options, key, () => shown(key));
}

async function rotate(prefix: string, options: Options<{ overlap?: number }>) {
  const body = { overlap_seconds: options.overlap ?? 86_400 };
  const key = await withDatabaseFirst(options, (api) =>
    api.find('POST /v1/keys/{prefix}/rotate', { path: { prefix: known(prefix) }, body }),
  );
  if (!key) throw unknown(prefix);
  print(options, key, () => shown(key));
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
    throw new Failure('Give --name, --expires-in or --rate.', undefined, 2);
  }
  const key = await withDatabaseFirst(options, (api) =>
    api.find('PATCH /v1/keys/{prefix}', { path: { prefix: known(prefix) }, body: changes }),
  );
  if (!key) throw unknown(prefix);
  print(options, key, () => `Changed ${prefix}.\n`);
}

const unknown = (prefix: string) =>
  new Failure(`There is no key with the prefix ${prefix}.`, 'See: tock key list', 3);

/** What can't be a key's prefix is none's. */
function known(prefix: string): string {
  if (/^tock_[0-9a-f]{8}$/.test(prefix)) return prefix;
  throw unknown(prefix);
}

async function show(options: Options) {
  const { keys } = await withDatabaseFirst(options, (api) => api.call('GET /v1/keys'));
  const rows = keys.map((key) => [
    key.prefix,
    key.name,
    key.scopes.join(),
    key.queues?.join() ?? 'all',
    key.tenants?.join() ?? 'all',
    rateOf(key),
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
  const path = { prefix: known(prefix) };
  const revoked = await withDatabaseFirst(options, (api) =>
    api.find('DELETE /v1/keys/{prefix}', { path }),
  );
  if (!revoked) throw unknown(prefix);
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
    .option('--tenant <tenant>', "only for this tenant's tasks; may be given several times", list)
    .option('--expires-in <seconds>', 'how long it lasts; for good without', number)
    .option('--rate <n/seconds>', 'how many requests it may make in how many seconds', rate)
    .action((name: string, _given, command: Command) => create(name, optionsOf(command)));
  key
    .command('list')
    .description('all keys, but for their secret part')
    .action((_given, command: Command) => show(optionsOf(command)));
  key
    .command('rotate <prefix>')
    .description('make a key that replaces one and show it, this once')
    .option('--overlap <seconds>', 'how long the old one lasts; a day without', whole(0, 2_678_400))
    .action((prefix: string, _given, command: Command) => rotate(prefix, optionsOf(command)));
  key
    .command('change <prefix>')
    .description("change a key's name, expiry or rate")
    .option('--name <name>', 'another name')
    .option('--expires-in <seconds>', 'how long it lasts from now, or never', secondsOrNever)
    .option('--rate <n/seconds>', 'how many requests in how many seconds, or none', rate)
    .action((prefix: string, _given, command: Command) => change(prefix, optionsOf(command)));
  key
    .command('revoke <prefix>')
    .description('end a key at once')
    .action((prefix: string, _given, command: Command) => revoke(prefix, optionsOf(command)));
}
