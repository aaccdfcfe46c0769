import type { Command } from 'commander';
import { type Gate, mustHave, throughDoor } from '../doors/door.ts';
import { Failure } from '../failure.ts';
import { number } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { inLine } from '../plain.ts';
import { table } from '../table.ts';

type Given = { limit?: number; pause?: boolean; resume?: boolean; reset?: boolean };

async function gates(queue: string, options: Options) {
  const found = await throughDoor(options, async (door) => {
    const all = await door.gates(queue);
    if (all.length === 0) await mustHave(door, queue);
    return all;
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
  const found = await throughDoor(given, async (door): Promise<Gate | null> => {
    if (reset && !(await door.resetGate(queue, name))) return null;
    if (Object.keys(settings).length > 0) await door.putGate(queue, name, settings);
    return door.gate(queue, name);
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
