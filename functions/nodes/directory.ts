import type { Query } from '../database/types.ts';

/** The owner of each key: a queue's name, or a colon and a range of ids. Null if the directory gives it to no node. */
export type Owners = Map<string, number | null>;

/** What an isolate knows of a directory, for all its calls. */
export type Known = { owners: Owners; nodes?: Map<number, string>; nodes_until?: number };

const MAX_KEYS = 10_000;
/** An isolate notices a new node after this time at the latest. */
const NODES_MS = 60_000;

const ownersSql =
  'select k.key, tock_nodes.owner(p_key => k.key) as node from unnest($1::text[]) as k (key)';
const nodesSql = `select tock_nodes.owner(p_key => ':' || r.range) as node, min(':' || r.range) as key
  from generate_series(0, 1023) as r (range) group by 1 order by 1`;

/** The owners of keys. `query` reads those that are not known. */
export async function ownersOf(
  query: Query,
  known: Known,
  keys: readonly string[],
): Promise<Owners> {
  const unknown = keys.filter((key) => !known.owners.has(key));
  const owners: Owners = new Map(keys.map((key) => [key, known.owners.get(key) ?? null]));
  if (unknown.length === 0) return owners;
  if (known.owners.size + unknown.length > MAX_KEYS) known.owners.clear();
  for (const { key, node } of await query(ownersSql, [unknown])) {
    owners.set(key as string, node as number | null);
    known.owners.set(key as string, node as number | null);
  }
  return owners;
}

/** All nodes that own a range, each with a key that leads to it. */
export async function nodesWithKeys(query: Query, known: Known): Promise<Map<number, string>> {
  const now = performance.now();
  if (!known.nodes || now > (known.nodes_until ?? 0)) {
    const rows = (await query(nodesSql)) as { node: number | null; key: string }[];
    known.nodes_until = now + NODES_MS;
    known.nodes = new Map(rows.flatMap(({ node, key }) => (node === null ? [] : [[node, key]])));
  }
  return known.nodes;
}

/** Forgets keys that have moved. */
export function forget({ owners }: Known, keys: readonly string[]): void {
  for (const key of keys) owners.delete(key);
}
