import { refusal } from '../http/problem.ts';
import { isElsewhere, moving } from './errors.ts';
import type { Group, Router } from './router.ts';

/**
 * Runs work on each node that owns some of the keys, at the same time. A TK421 has changed nothing: then the directory is
 * read again, and the work of that node is repeated once.
 */
export async function onOwners<T>(
  router: Router,
  keys: readonly string[],
  work: (group: Group) => Promise<T>,
  again = true,
): Promise<T[]> {
  const groups = await router.split(keys);
  const results = groups.map(async (group) => {
    try {
      return [await work(group)];
    } catch (error) {
      if (!isElsewhere(error)) throw error;
      if (!again) throw moving();
      router.forget(group.keys);
      return onOwners(router, group.keys, work, false);
    }
  });
  // All nodes have answered before the call fails, so that a repeat does not meet its own first try.
  const settled = await Promise.allSettled(results);
  return settled.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** Refuses a call that names something of another node than that of `key`. */
export async function refuseOthers(
  router: Router,
  key: string,
  others: readonly { key: string; field: string; hint: string }[],
): Promise<void> {
  if (others.length === 0) return;
  const keys = [...new Set([key, ...others.map((other) => other.key)])];
  let owners = await router.owners(keys);
  const find = () => others.find((one) => owners.get(one.key) !== owners.get(key));
  if (!find()) return;
  // The queue may have moved.
  router.forget([key]);
  owners = await router.owners(keys);
  const other = find();
  if (!other) return;
  const [there, here] = [owners.get(other.key), owners.get(key)];
  throw refusal(422, `${other.field} is on node ${there}, and the queue on node ${here}`, {
    field: other.field,
    hint: other.hint,
  });
}
