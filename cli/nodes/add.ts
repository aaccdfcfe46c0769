import type pg from 'pg';
import { Failure } from '../../migrate/failure.ts';
import { type Options, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { runStatement } from '../statement.ts';
import { plural } from '../table.ts';
import { atCoordinator, withNodes } from './coordinator.ts';
import { ask, hasDirectory, makeDirectory, nodeNamed, pin, readNodes } from './directory.ts';
import { addToCitus, copySettings, type Joining, prepare, register } from './join.ts';
import { copyRoles } from './roles.ts';

const logger = (options: Options) => (line: string) => {
  if (!options.json) process.stdout.write(`${line}\n`);
};

/** Citus must know how the nodes reach the coordinator, which gets no queues. */
async function nameCoordinator(client: pg.Client, options: Options<{ coordinator?: string }>) {
  const [known] = await runStatement(
    client,
    'select from pg_catalog.pg_dist_node where groupid = 0',
  );
  if (known) return;
  const { hostname, port } = new URL(databaseUrl(options));
  const [, host, at] =
    /^(.*?)(?::(\d+))?$/.exec(options.coordinator ?? `${hostname}:${port || 5432}`) ?? [];
  await runStatement(client, 'select pg_catalog.citus_set_coordinator_host($1, $2)', [
    host,
    Number(at ?? 5432),
  ]);
  await runStatement(
    client,
    `select pg_catalog.citus_set_node_property(n.nodename, n.nodeport, 'shouldhaveshards', false)
     from pg_catalog.pg_dist_node n where n.groupid = 0`,
  );
}

export async function init(
  urls: string[],
  options: Options<{ coordinator?: string }>,
): Promise<void> {
  const log = logger(options);
  const nodes = await atCoordinator(options, async (client) => {
    if (await hasDirectory(client)) {
      if (urls.length > 0)
        throw new Failure(
          'This cluster has a directory already.',
          'Add a node: tock nodes add URL',
        );
      const [first] = await readNodes(client);
      const owner = first && (await ask(client, first.key, ownerOfTock));
      await makeDirectory(client, owner ?? client.user ?? 'postgres');
      log('Replaced the functions of the directory');
      return readNodes(client);
    }
    if (urls.length === 0)
      throw new Failure('A directory needs a node.', 'Give the URLs of the first ones.', 2);
    await nameCoordinator(client, options);
    const joining: Joining[] = [];
    for (const url of urls) {
      const taken = joining.map(({ range }) => range);
      joining.push(await prepare(url, { name: undefined, server: undefined, taken }, log));
    }
    const numbers: number[] = [];
    for (const node of joining) numbers.push(await addToCitus(client, node));
    await copyRoles(client, urls[0] as string);
    await makeDirectory(client, joining[0]?.owner ?? '');
    for (const [at, node] of joining.entries())
      await register(client, numbers[at] as number, node, log);
    const nodes = await readNodes(client);
    const [first] = nodes;
    for (const [at, { queues }] of joining.entries())
      if (first && at > 0 && queues.length === 0)
        await copySettings(client, first, urls[at] as string);
    return nodes;
  });
  print(options, { nodes }, () => `The cluster has ${plural(nodes.length, 'node')}.\n`);
}

const ownerOfTock = `select pg_catalog.pg_get_userbyid(n.nspowner)::text
  from pg_catalog.pg_namespace n where n.nspname = 'tock'`;

export async function add(
  url: string,
  options: Options<{ name?: string; server?: string; address?: string }>,
): Promise<void> {
  const added = await withNodes(options, async (client, nodes) => {
    const taken = nodes.flatMap(({ ranges }) => ranges);
    const { name, server, address } = options;
    const joining = await prepare(url, { name, server, taken }, logger(options));
    if (nodes.some((node) => node.name === joining.name))
      throw new Failure(`There is a node ${joining.name} already.`, 'Give another --name.', 2);
    for (const queue of joining.queues)
      for (const node of nodes)
        if (await ask(client, node.key, 'select tock.queue_to_move(%1$L)::text', [queue]))
          throw new Failure(`${node.name} and ${joining.name} both have queue ${queue}.`);
    if (nodes[0] && joining.queues.length === 0) await copySettings(client, nodes[0], url);
    const node = await addToCitus(client, joining);
    await runStatement(
      client,
      "select pg_catalog.replicate_reference_tables(shard_transfer_mode => 'block_writes')",
    );
    await register(
      client,
      node,
      { ...joining, address: address ?? joining.address },
      logger(options),
    );
    return { node, name: joining.name, range: joining.range };
  });
  print(
    options,
    added,
    () =>
      `Node ${added.node}, ${added.name}, has range ${added.range}. It gets queues by: tock nodes place, move\n`,
  );
}

/** Gives a node a further range of ids, and returns how many ids are left in it. */
export function foundAt(name: string, range: number, options: Options): Promise<string | null> {
  return withNodes(options, async (client, nodes) => {
    const node = nodeNamed(nodes, name);
    const owner = nodes.find(({ ranges }) => ranges.includes(range));
    if (owner && owner !== node) throw new Failure(`Range ${range} is that of ${owner.name}.`);
    await pin(client, `:${range}`, node.node);
    await runStatement(
      client,
      'insert into tock_nodes.ranges (range, node) values ($1, $2) on conflict do nothing',
      [range, node.node],
    );
    return ask(client, node.key, 'select tock.found_range(%1$L)::text', [`${range}`]);
  });
}
