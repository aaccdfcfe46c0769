import { misconfigured } from '../database/errors.ts';
import type { Bindings } from '../env.ts';

/** The bindings that lead to each node, by its number; `ask` if one database sends statements on to the nodes. */
export type Nodes = 'ask' | ReadonlyMap<number, Bindings>;

/** An id begins with ten bits for its range, and numbers that are no ids get their node in the same bits. */
export const MAX_NODE = 1023;

const hint =
  'set it to ask, or to 1=postgres://…,2=postgres://…; the name of a binding may stand for a URL';

function bindingsOf(env: Bindings, address: string): Bindings {
  const { DATABASE_URL, HYPERDRIVE, DATABASE_URL_ENDS, HYPERDRIVE_ENDS, TOCK_NODES, ...others } =
    env;
  const binding = address.includes('://')
    ? address
    : (env as Record<string, string | Bindings['HYPERDRIVE']>)[address];
  // The message omits the name: it may be a misplaced secret.
  if (!binding) throw misconfigured('TOCK_NODES names a binding that does not exist.', hint);
  return typeof binding === 'string'
    ? { ...others, DATABASE_URL: binding }
    : { ...others, HYPERDRIVE: binding };
}

/** The nodes of TOCK_NODES; null without it. */
export function nodesOf(env: Bindings): Nodes | null {
  const { TOCK_NODES: text } = env;
  if (!text) return null;
  if (text === 'ask') return text;
  const nodes = new Map<number, Bindings>();
  for (const part of text.split(/,\s*(?=\d+=)/)) {
    const [, number = '', address = ''] = /^\s*(\d{1,4})=(\S+)\s*$/.exec(part) ?? [];
    if (!address || Number(number) > MAX_NODE || nodes.has(Number(number)))
      throw misconfigured('TOCK_NODES is not a list of nodes.', hint);
    nodes.set(Number(number), bindingsOf(env, address));
  }
  return nodes;
}

/** The bindings of each database that background work has to visit: those of the nodes, or the only ones. */
export function eachNode(env: Bindings): Bindings[] {
  const nodes = nodesOf(env);
  return nodes === null || nodes === 'ask' ? [env] : [...nodes.values()];
}
