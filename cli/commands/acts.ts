import type { Command } from 'commander';
import { withDatabase } from '../connect.ts';
import { ask } from '../doors/ask.ts';
import { whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { moment, table } from '../table.ts';

type Act = {
  number: string;
  at: Date;
  role: string;
  key: string | null;
  key_name: string | null;
  verb: string;
  object: string;
  detail: object;
};
type Given = { by?: string; verb?: string; object?: string; before?: string; limit?: number };

async function acts(options: Options<Given>) {
  const { by = null, verb = null, object = null, before = null, limit = 20 } = options;
  const found = await withDatabase(databaseUrl(options), (client) =>
    ask<Act>(
      client,
      `select number, at, role, key, key_name, verb, object, detail
       from tock.acts(p_key => $1, p_verb => $2, p_object => $3, p_before => $4, p_limit => $5)`,
      [by, verb, object, before, limit],
    ),
  );
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
}

export function addActs(program: Command): void {
  program
    .command('acts')
    .description('who made, changed, emptied or ended what, the newest first')
    .option('--by <prefix>', "a key's")
    .option('--verb <verb>', 'of one kind, such as purge_queue')
    .option('--object <name>', 'on a queue, a schedule, a key or a task')
    .option('--before <number>', 'older than this one')
    .option('--limit <n>', 'how many', whole(1, 1000))
    .action((_given, command: Command) => acts(optionsOf(command)));
}
