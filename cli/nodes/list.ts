import { withDatabase } from '../../migrate/connect.ts';
import { type Options, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { runStatement } from '../statement.ts';
import { table } from '../table.ts';
import { ask, checkCoordinator, checkDirectory, type Node, readNodes } from './directory.ts';

type Listed = Node & { queues: number | null; error: string | null };

export async function list(options: Options): Promise<void> {
  const { nodes, moves } = await withDatabase(databaseUrl(options), async (client) => {
    await checkCoordinator(client);
    await checkDirectory(client);
    const listed: Listed[] = [];
    for (const node of await readNodes(client)) {
      try {
        const queues = await ask(client, node.key, countQueues);
        listed.push({ ...node, queues: Number(queues), error: null });
      } catch (error) {
        listed.push({ ...node, queues: null, error: (error as Error).message });
      }
    }
    return { nodes: listed, moves: await runStatement<MoveRow>(client, listMoves) };
  });
  print(options, { nodes, moves }, () => described(nodes, moves));
}

const countQueues = `select count(*)::text from tock.queues q where q.name not in ('*', 'tock-webhooks')`;

type MoveRow = { queue: string; node: string; moved_at: Date };
const listMoves = `select m.queue, n.name as node, m.moved_at
  from tock_nodes.moves m join tock_nodes.nodes n on n.node = m.node order by m.queue, m.moved_at`;

function described(nodes: Listed[], moves: MoveRow[]): string {
  const rows = nodes.map(({ node, name, address, ranges, queues, error }) => [
    node,
    name,
    address,
    ranges.join(','),
    error ? 'unreachable' : queues,
  ]);
  const lines = moves.map(
    ({ queue, node }) => `Queue ${queue} has left ${node}, and may have tasks there.\n`,
  );
  return table([['node', 'name', 'address', 'ranges', 'queues'], ...rows]) + lines.join('');
}
