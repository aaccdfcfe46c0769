import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { checkedId, givenPayload, number, unknownTask } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Given = { priority?: number; runAt?: string; delay?: number; payload?: string };

/** As JSON: the payload goes on as it was typed. */
async function changesOf({ priority, runAt, delay, payload }: Given): Promise<string> {
  const fields = Object.entries({ priority, run_at: runAt, delay_seconds: delay })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  if (payload !== undefined) fields.push(`"payload":${await givenPayload(payload)}`);
  if (fields.length > 0) return `{${fields.join()}}`;
  const next = 'Give one or more of --priority, --run-at, --delay and --payload.';
  throw new Failure('There is nothing to change.', next, 2);
}

async function change(given: string, options: Options<Given>) {
  const id = checkedId(given);
  const body = await changesOf(options);
  const task = await withApi(options, (api) =>
    api.find('PATCH /v1/tasks/{id}', { path: { id }, body }),
  );
  if (!task) throw unknownTask(id);
  print(options, task, () =>
    task.state === 'running'
      ? `${task.id} is running: its next attempt is changed, if there is one\n`
      : `${task.id} is changed\n`,
  );
}

export function addChange(program: Command): void {
  program
    .command('change <id>')
    .description('change a task that has not ended; of a running one its next attempt')
    .option('--priority <0-9>', '0 comes first', number)
    .option('--run-at <instant>', 'not before, like 2030-01-31T09:00:00Z')
    .option('--delay <seconds>', 'not before that many seconds from now', number)
    .option('--payload <json>', 'another payload; "-" reads it from stdin')
    .action((id: string, _given, command: Command) => change(id, optionsOf(command)));
}
