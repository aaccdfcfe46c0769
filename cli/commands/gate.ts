import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { mustHave, withApi } from '../api.ts';
import { number } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { inLine } from '../plain.ts';
import { table } from '../table.ts';

type Given = { limit?: number; pause?: boolean; resume?: boolean; reset?: boolean };

async function gates(queue: string, options: Options) {
  const found = await withApi(options, async (api) => {
    const { gates } = await api.call('GET /v1/queues/{queue}/gates', { path: { queue } });
    if (gates.length === 0) await mustHave(api, queue);
    return gates;
  });
  const rows = found.map((one) => [
    one.gate,
    one.gate_limit,
    one.inside.length,
    one.waiting,
    one.paused ? 'paused' : '',
  ]);
  print(options, { gates: found }, () =>
    table([['gate', 'limit', 'inside', 'waiting', ''], ...rows]),
  );
  note(options, found.length === 0 && 'No task has named a gate.');
}

async function gate(queue: string, name: string, given: Options<Given>) {
  const { limit, pause, resume, reset } = given;
  const settings = {
    ...(limit !== undefined && { gate_limit: limit }),
    ...((pause || resume) && { paused: !resume }),
  };
  if (pause && resume) throw new Failure('Give --pause or --resume, not both.', undefined, 2);
  if (reset && Object.keys(settings).length > 0) {
    throw new Failure('--reset goes alone.', undefined, 2);
  }
  const path = { queue, gate: name };
  const found = await withApi(given, async (api) => {
    if (reset && !(await api.find('DELETE /v1/queues/{queue}/gates/{gate}', { path }))) return null;
    if (Object.keys(settings).length > 0) {
      await api.call('PATCH /v1/queues/{queue}/gates/{gate}', { path, body: settings });
    }
    return api.find('GET /v1/queues/{queue}/gates/{gate}', { path });
  });
  if (!found) throw new Failure(`Queue ${queue} has no gate ${name}.`, undefined, 3);
  print(given, found, () => {
    const { inside, waiting, gate_limit } = found;
    const state = found.paused ? 'paused, ' : '';
    return `${inLine(name)}: ${state}${inside.length} of ${gate_limit} inside, ${waiting} waiting\n`;
  });
}

export function addGate(program: Command): void {
  program
    .command('gates <queue>')
    .description("a queue's gates: who is inside, and how many wait")
    .action((queue: string, _given, command: Command) => gates(queue, optionsOf(command)));
  program
    .command('gate <queue> <gate>')
    .description('show a gate, resize it, pause it, or have it go by its queue again')
    .option('--limit <n>', 'how many may be inside', number)
    .option('--pause', 'let nobody in')
    .option('--resume', 'let them in again')
    .option('--reset', "the queue's settings, not paused, a full bucket")
    .action((queue: string, name: string, _given, command: Command) =>
      gate(queue, name, optionsOf(command)),
    );
}
