import type { Command } from 'commander';
import { withDatabasePreferred } from '../api.ts';
import { wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type Flags = { by?: string; verb?: string; object?: string; before?: string; limit?: number };

async function showAuditLog(options: Options<Flags>) {
  const { by, verb, object, before, limit = 20 } = options;
  const { entries } = await withDatabasePreferred(options, (api) =>
    api.call('GET /v1/audit-log', { query: { key: by, verb, object, before, limit } }),
  );
  const last = entries.at(-1)?.number;
  print(options, entries, () =>
    table([
      ['number', 'at', 'who', 'verb', 'object', ''],
      ...entries.map((entry) => [
        entry.number,
        moment(entry.at),
        entry.key ? `${entry.key} (${entry.key_name})` : entry.role,
        entry.verb,
        entry.object,
        JSON.stringify(entry.detail),
      ]),
    ]),
  );
  note(options, entries.length >= limit && `There may be more: --before ${last}`);
}

export function addAuditLog(program: Command): void {
  program
    .command('audit-log')
    .description('list administrative actions, newest first')
    .option('--by <prefix>', "a key's")
    .option('--verb <verb>', 'actions of one kind, such as purge_queue')
    .option('--object <name>', 'actions on this queue, schedule, key or task')
    .option('--before <number>', 'actions before this number')
    .option('--limit <n>', 'maximum number of actions', wholeNumber(1, 1000))
    .action((_options, command: Command) => showAuditLog(optionsOf(command)));
}
