import { type Command, InvalidArgumentError } from 'commander';
import { withDatabase } from '../../migrate/connect.ts';
import { add, foundAt, init } from '../nodes/add.ts';
import { withNodes } from '../nodes/coordinator.ts';
import { nodeNamed } from '../nodes/directory.ts';
import { list } from '../nodes/list.ts';
import { drain, type Moved, move, place } from '../nodes/move.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { runStatement } from '../statement.ts';
import { plural } from '../table.ts';

function rangeOf(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > 1023)
    throw new InvalidArgumentError('It must be a whole number from 0 to 1023.');
  return Number(text);
}

const described = ({ queue, node, left }: Moved) =>
  [
    `Queue ${queue} is on ${node}.\n`,
    ...left.map(
      ({ node: old, tasks }) =>
        `${plural(tasks, 'task')} left on ${old}, where claims look first. Repeat the command later.\n`,
    ),
  ].join('');

const POLL_MS = 1000;

/** Moves a queue; with --wait until the other nodes have no task of it. */
async function moveQueue(queue: string, name: string, options: Options<{ wait?: boolean }>) {
  const once = () =>
    withNodes(options, (client, nodes) => move(client, nodes, queue, nodeNamed(nodes, name)));
  let moved = await once();
  while (options.wait && moved.left.length > 0) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    moved = await once();
  }
  print(options, moved, () => described(moved));
}

async function placeQueue(queue: string, name: string, options: Options) {
  const placed = await withNodes(options, (client, nodes) =>
    place(client, nodes, queue, nodeNamed(nodes, name)),
  );
  print(options, placed, () => described(placed));
}

async function drainNode(name: string, options: Options) {
  const moved = await withNodes(options, (client, nodes) =>
    drain(client, nodes, nodeNamed(nodes, name)),
  );
  print(options, { moved }, () => moved.map(described).join('') || `${name} has no queues.\n`);
}

async function found(range: number, options: Options<{ node?: string }>): Promise<void> {
  const left = options.node
    ? await foundAt(options.node, range, options)
    : await withDatabase(databaseUrl(options), async (client) => {
        const statement = 'select tock.found_range(p_range => $1) as positions_left';
        const [row] = await runStatement<{ positions_left: string }>(client, statement, [range]);
        return row?.positions_left;
      });
  print(options, { range, positions_left: left }, () => `Range ${range}: ${left} ids are left.\n`);
}

export function addNodes(program: Command): void {
  const nodes = program.command('nodes').description('several databases that share the queues');
  nodes
    .command('init')
    .description('make the directory on the coordinator of Citus; again: replace its functions')
    .argument('[url...]', 'the databases of the first nodes')
    .option('--coordinator <host:port>', 'how the nodes reach the coordinator; default: as here')
    .action((urls: string[], _options, command: Command) => init(urls, optionsOf(command)));
  nodes
    .command('add')
    .description('add a database as a node; it gets queues by place and move')
    .argument('<url>', 'the database')
    .option('--name <name>', 'default: its host and port')
    .option('--server <host:port>', 'how the other nodes reach it; default: as here')
    .option('--address <host:port>', 'how clients reach it; default: as the other nodes')
    .action((url: string, _options, command: Command) => add(url, optionsOf(command)));
  nodes
    .command('list')
    .description('list the nodes, and the queues that are moving')
    .action((_options, command: Command) => list(optionsOf(command)));
  nodes
    .command('place')
    .description('choose the node of a queue before its first task')
    .argument('<queue>', 'its name, or a colon and a range of ids')
    .argument('<node>', 'its name')
    .action((queue: string, node: string, _options, command: Command) =>
      placeQueue(queue, node, optionsOf(command)),
    );
  nodes
    .command('move')
    .description('move a queue: new tasks go to the node, claims to the old one until it is empty')
    .argument('<queue>', 'its name')
    .argument('<node>', 'its name')
    .option('--wait', 'until no other node has tasks of the queue')
    .action((queue: string, node: string, _options, command: Command) =>
      moveQueue(queue, node, optionsOf(command)),
    );
  nodes
    .command('drain')
    .description('move all queues of a node to the others')
    .argument('<node>', 'its name')
    .action((node: string, _options, command: Command) => drainNode(node, optionsOf(command)));
  nodes
    .command('found')
    .description('give a database a range of ids of its own, 0 to 1023')
    .argument('<range>', 'which no other node has', rangeOf)
    .option('--node <name>', 'the node that gets it; default: the database of the URL')
    .action((range: number, _options, command: Command) => found(range, optionsOf(command)));
}
