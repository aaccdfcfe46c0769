import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { checkedId, number, payloadArgument, unknownTask } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Flags = { priority?: number; runAt?: string; delay?: number; payload?: string };

/** The changes as JSON text, so that the payload keeps its exact form. */
async function changesOf({ priority, runAt, delay, payload }: Flags): Promise<string> {
  const fields = Object.entries({ priority, run_at: runAt, delay_seconds: delay })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  if (payload !== undefined) fields.push(`"payload":${await payloadArgument(payload)}`);
  if (fields.length > 0) return `{${fields.join()}}`;
  const next = 'Give at least one of --priority, --run-at, --delay and --payload.';
  throw new Failure('No change was given.', next, 2);
}

async function change(idText: string, options: Options<Flags>) {
  const id = checkedId(idText);
  const body = await changesOf(options);
  const task = await withApi(options, (api) =>
    api.find('PATCH /v1/tasks/{id}', { path: { id }, body }),
  );
  if (!task) throw unknownTask(id);
  print(options, task, () =>
    task.state === 'running'
      ? `${task.id} is running: the change applies to its next attempt, if any\n`
      : `${task.id} is changed\n`,
  );
}

export function addChange(program: Command): void {
  program
    .command('change <id>')
    .description('change a task that has not ended; for a running task its next attempt')
    .option('--priority <0-9>', '0 is the highest priority', number)
    .option('--run-at <instant>', 'run at this time or later, like 2030-01-31T09:00:00Z')
    .option('--delay <seconds>', 'run after this many seconds or later', number)
    .option('--payload <json>', 'new payload; "-" reads it from stdin')
    .action((id: string, _options, command: Command) => change(id, optionsOf(command)));
}
