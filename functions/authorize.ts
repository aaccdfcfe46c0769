import { refusal } from './problem.ts';

export type Scope = 'enqueue' | 'claim' | 'read' | 'admin';

/** For what concerns every queue: a key that is limited to some does not pass. */
export const everyQueue = "'*'";

/** The verb refers to what the check returned, so it can't run before. */
function answered(select: string, from: string): string {
  return `cross join lateral (select ${select} from ${from} where key.allowed offset 0) as answer`;
}

/**
 * Puts the key's check in front of a verb, in its statement, and makes the columns selected the
 * fields of the answer. $1 is the key; `queue` the SQL of the queue it must be for.
 */
export function authorized(scope: Scope, queue: string, select: string, from: string): string {
  return `select row_to_json(answer)::text as body
from tock.authorize(p_key => $1, p_scope => '${scope}', p_queue => ${queue}) as key (allowed)
${answered(select, from)}`;
}

/** As authorized(), for two queues: one that is taken from, and one that is given to. */
export function authorizedForBoth(
  scope: Scope,
  queues: [from: string, to: string],
  select: string,
  from: string,
): string {
  const checks = queues.map(
    (queue) => `tock.authorize(p_key => $1, p_scope => '${scope}', p_queue => ${queue})`,
  );
  return `select row_to_json(answer)::text as body
from (select ${checks.join(' and ')}) as key (allowed)
${answered(select, from)}`;
}

/** As authorized(), for all queues that a select gives. */
export function authorizedForAll(
  scope: Scope,
  queues: string,
  select: string,
  from: string,
): string {
  return `select row_to_json(answer)::text as body
from (
  select bool_and(tock.authorize(p_key => $1, p_scope => '${scope}', p_queue => q.queue)) as allowed
  from (${queues}) as q (queue)
) as key
${answered(select, from)}`;
}

/**
 * As authorized(), for the queues of all tasks in $2, and one more where it is named. The verb takes `key.ids`: those that were there
 * when the key was judged. It sees more than the check did, and ids can be guessed: with $2 a key
 * could reach a task that was enqueued in between.
 */
export function authorizedForTasks(
  scope: Scope,
  select: string,
  from: string,
  also?: string,
): string {
  const and = also
    ? ` and tock.authorize(p_key => $1, p_scope => '${scope}', p_queue => ${also})`
    : '';
  return `with tasks as materialized (
  select i.id, tock.queue_of_task(p_id => i.id) as queue
  from tock.authorize(p_key => $1, p_scope => '${scope}') as known (allowed)
  cross join lateral (select u.id from unnest($2::bigint[]) as u (id) where known.allowed offset 0) as i
), key as materialized (
  select bool_and(tock.authorize(p_key => $1, p_scope => '${scope}', p_queue => q.queue))${and} as allowed,
    array(select t.id from tasks as t where t.queue is not null) as ids
  from (select distinct t.queue from tasks as t) as q
)
select row_to_json(answer)::text as body
from key
${answered(select, from)}`;
}

const hint = 'Send Authorization: Bearer with a key; tock key create makes one.';

/** The key of a request. What can't be one goes no further. */
export function bearerKey(header: string | undefined): string {
  if (!header) throw refusal(401, 'There is no key.', { field: 'Authorization', hint });
  const [, key] = /^Bearer +([\w.~+/=-]{1,200}) *$/i.exec(header) ?? [];
  if (!key) throw refusal(401, 'This is no bearer key.', { field: 'Authorization', hint });
  return key;
}
