import { refusal } from './problem.ts';

export type Scope = 'enqueue' | 'claim' | 'read' | 'admin';

/**
 * By what a call may do what it does: the key that it brings, or the rights of the role that is logged in to the database. The second
 * is for an app inside a program that has the database's URL, as the command line is: what serves a network never asks for it.
 */
export type Rights = 'key' | 'database role';

/** A verb's statement for each kind of rights; $1 is the key, null without one. */
export type Statement = Record<Rights, string>;

/** The check in front of a verb: that a key has a scope for a queue, or that there is no key. */
type Check = (scope: Scope, queue: string | null, own?: Own) => string;

const checks: Record<Rights, Check> = {
  key(scope, queue, own) {
    const ofQueue = queue === null ? '' : `, p_queue => ${queue}`;
    return `tock.authorize(p_key => $1, p_scope => '${scope}'${ofQueue}${own ? ', p_own => true' : ''})`;
  },
  'database role': () => '$1::text is null',
};

/** A statement with its check, by whichever rights. */
export const checked = (text: (check: Check) => string): Statement => ({
  key: text(checks.key),
  'database role': text(checks['database role']),
});

/** For what concerns every queue: a key that is limited to some does not pass. */
export const everyQueue = "'*'";

/** Said of a verb that keeps to the tasks of a key's tenants: any other is refused to a key that is for some. */
type Own = 'own tasks';

/** For a task's id $2: null where a key is for some tenants, and the task of another. */
export const ownTask = 'tock.reach(p_key => $1, p_id => $2::bigint)';

/** For what is done to the task $2: the queue that the key must be for, of a pipeline any that it isn't. */
export const queueOfTask = `tock.judged_queue(p_key => $1, p_id => ${ownTask})`;

/** A filter's tenant: that of a key for one alone, where none is named. */
export const ownTenant = (tenant: string) =>
  `tock.own_tenant(p_key => $1, p_tenant => ${tenant}::text)`;

/** Who repeats a call with the id of another tenant's is not given that one's answer. */
export const ownRequestId = (id: string) =>
  `tock.own_request_id(p_key => $1, p_request_id => ${id}::text)`;

/** How many rows were looked at says how much others have: a key for some tenants hears what it was given. */
export const lookedAt = (all: string, own: string) =>
  `case when tock.tenants_of_key(p_key => $1) is null then ${all} else ${own} end as looked_at`;

/** The verb refers to what the check returned, so it can't run before. */
function answered(select: string, from: string): string {
  return `cross join lateral (select ${select} from ${from} where key.allowed offset 0) as answer`;
}

/**
 * Puts the key's check in front of a verb, in its statement, and makes the columns selected the
 * fields of the answer. $1 is the key; `queue` the SQL of the queue it must be for.
 */
export function authorized(
  scope: Scope,
  queue: string,
  select: string,
  from: string,
  own?: Own,
): Statement {
  const text = (check: string) => `select row_to_json(answer)::text as body
from ${check} as key (allowed)
${answered(select, from)}`;
  return {
    key: text(checks.key(scope, queue, own)),
    'database role': text(`(select ${checks['database role'](scope, queue)})`),
  };
}

/** As authorized(), for two queues: one that is taken from, and one that is given to. */
export function authorizedForBoth(
  scope: Scope,
  queues: [from: string, to: string],
  select: string,
  from: string,
  own?: Own,
): Statement {
  return checked(
    (check) => `select row_to_json(answer)::text as body
from (select ${queues.map((queue) => check(scope, queue, own)).join(' and ')}) as key (allowed)
${answered(select, from)}`,
  );
}

/** As authorized(), for all queues that a select gives. */
export function authorizedForAll(
  scope: Scope,
  queues: string,
  select: string,
  from: string,
): Statement {
  return checked(
    (check) => `select row_to_json(answer)::text as body
from (
  select bool_and(${check(scope, 'q.queue')}) as allowed
  from (${queues}) as q (queue)
) as key
${answered(select, from)}`,
  );
}

/**
 * As authorized(), for the queues and stages of all tasks in $2, and one more where it is named. The verb takes `key.ids`: those that were there
 * when the key was judged. It sees more than the check did, and ids can be guessed: with $2 a key
 * could reach a task that was enqueued in between. To a key for some tenants, tasks of others are not there.
 */
export function authorizedForTasks(
  scope: Scope,
  select: string,
  from: string,
  also?: string,
): Statement {
  const check = checks.key;
  const and = also ? ` and ${check(scope, also, 'own tasks')}` : '';
  const asked = `with known as materialized (
  select ${check(scope, null, 'own tasks')} as allowed, tock.tenants_of_key(p_key => $1) as tenants
), tasks as materialized (
  select i.id, tock.judged_queue(p_key => $1, p_id => i.id) as queue
  from known
  cross join lateral (
    select u.id from unnest($2::bigint[]) as u (id) where known.allowed
      and (known.tenants is null or tock.tenant_of_task(p_id => u.id) = any (known.tenants)) offset 0) as i
), key as materialized (
  select bool_and(${check(scope, 'q.queue', 'own tasks')})${and} as allowed,
    array(select t.id from tasks as t where t.queue is not null) as ids
  from (select distinct t.queue from tasks as t) as q
)`;
  const unasked = `with key as materialized (
  select ${checks['database role'](scope, null)} as allowed, $2::bigint[] as ids
)`;
  const rest = `
select row_to_json(answer)::text as body
from key
${answered(select, from)}`;
  return { key: asked + rest, 'database role': unasked + rest };
}

const hint = 'Send Authorization: Bearer with a key; tock key create makes one.';

/** The key of a request. What can't be one goes no further. */
export function bearerKey(header: string | undefined): string {
  if (!header) throw refusal(401, 'There is no key.', { field: 'Authorization', hint });
  const [, key] = /^Bearer +([\w.~+/=-]{1,200}) *$/i.exec(header) ?? [];
  if (!key) throw refusal(401, 'This is no bearer key.', { field: 'Authorization', hint });
  return key;
}
