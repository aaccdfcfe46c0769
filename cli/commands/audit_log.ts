import type { Command } from 'commander';
import { withDatabaseFirst } from '../api.ts';
import { whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type Given = { by?: string; verb?: string; object?: string; before?: string; limit?: number };

async function acts(options: Options<Given>) {
  const { by, verb, object, before, limit = 20 } = options;
  const { acts: found } = await withDatabaseFirst(options, (api) =>
    api.call('GET /v1/audit-log', { query: { key: by, verb, object, before, limit } }),
  );
  const last = found.at(-1)?.number;
  print(options, found, () =>
    table([
      ['number', 'at', 'who', 'verb', 'object', ''],
      ...found.map((act) => [
        act.number,
        moment(act.at),
        act.key ? `${act.key} (${act.key_name})` : act.role,
        act.verb,
        act.object,
        JSON.stringify(act.detail),
      ]),
    ]),
  );
  note(options, found.length >= limit && `There may be more: --before ${last}`);
}

export function addActs(program: Command): void {
  program
    .command('audit-log')
    .description('who made, changed, emptied or ended what, the newest first')
    .option('--by <prefix>', "a key's")
    .option('--verb <verb>', 'of one kind, such as purge_queue')
    .option('--object <name>', 'on a queue, a schedule, a key or a task')
    .option('--before <number>', 'older than this one')
    .option('--limit <n>', 'how many', whole(1, 1000))
    .action((_given, command: Command) => acts(optionsOf(command)));
}
