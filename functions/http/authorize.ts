import { refusal } from './problem.ts';

export type Scope = 'enqueue' | 'claim' | 'read' | 'admin';

/**
 * How a call is authorized: by its API key, or by the database role of the connection. `database role` is for a program
 * that has the database URL and calls the app in its own process, such as the CLI. A network server never uses it.
 */
export type Rights = 'key' | 'database role';

/**
 * A verb's statement for each kind of rights; $1 is the key, null without one. `scope` is what the key needs, null if
 * every key may make the call. With `forAll` the key must not be limited to some queues.
 */
export type Statement = Record<Rights, string> & Needs;
export type Needs = { scope: Scope | null; forAll?: boolean };

/** The SQL of the check before a verb: the key has the scope for the queue. With a database role there is no check. */
type Check = (scope: Scope, queue: string | null, own?: TenantScope) => string;

const checks: Record<Rights, Check> = {
  key(scope, queue, own) {
    const ofQueue = queue === null ? '' : `, p_queue => ${queue}`;
    return `tock.authorize(p_key => $1, p_scope => '${scope}'${ofQueue}${own ? ', p_own => true' : ''})`;
  },
  'database role': () => '$1::text is null',
};

/** A statement with its check, for both kinds of rights. */
export function checked(text: (check: Check) => string): Statement {
  let scope: Scope | null = null;
  const key = text((needed, queue, own) => {
    scope = needed;
    return checks.key(needed, queue, own);
  });
  return { key, 'database role': text(checks['database role']), scope };
}

/** A verb of sql/access that checks the key itself, and the select that is used with a database role. */
export const checkedInside = (scope: Scope, key: string, role: string): Statement => ({
  key,
  'database role': `${role}\nwhere ${checks['database role'](scope, null)}`,
  scope,
});

/** For routes that concern every queue: a key limited to some queues fails the check. */
export const everyQueue = "'*'";

/** For verbs that are limited to tasks of the key's tenants; other verbs refuse a key that is limited to tenants. */
type TenantScope = 'own tasks';

/** The task id $2; null if the key is limited to tenants and the task belongs to another one. */
export const ownTask = 'tock.visible_task(p_key => $1, p_id => $2::bigint)';

/** For changes of task $2: the queue that the key needs. For a pipeline it is a queue that the key lacks, if any. */
export const queueOfTask = `tock.queue_for_authorization(p_key => $1, p_id => ${ownTask})`;

/** The tenant of a filter. Its default is the key's tenant, if the key has exactly one. */
export const ownTenant = (tenant: string) =>
  `tock.own_tenant(p_key => $1, p_tenant => ${tenant}::text)`;

/** Scopes a request id to the key's tenants, so that one tenant never receives the answer of another's call. */
export const ownRequestId = (id: string) =>
  `tock.own_request_id(p_key => $1, p_request_id => ${id}::text)`;

/** The number of rows read reveals how much others have: a key limited to tenants gets the number of rows returned. */
export const scannedColumn = (all: string, own: string) =>
  `case when tock.tenants_of_key(p_key => $1) is null then ${all} else ${own} end as scanned`;

/** With `where key.allowed` and `offset 0` PostgreSQL cannot run the verb before the check. */
function lateralAnswer(select: string, from: string): string {
  return `cross join lateral (select ${select} from ${from} where key.allowed offset 0) as answer`;
}

/**
 * Adds the key's check to a verb, in one statement. $1 is the key; `queue` is the SQL expression of the queue that the
 * key needs. The selected columns become the fields of the answer.
 */
export function authorized(
  scope: Scope,
  queue: string,
  select: string,
  from: string,
  own?: TenantScope,
): Statement {
  const text = (check: string) => `select row_to_json(answer)::text as body
from ${check} as key (allowed)
${lateralAnswer(select, from)}`;
  return {
    key: text(checks.key(scope, queue, own)),
    'database role': text(`(select ${checks['database role'](scope, queue)})`),
    scope,
    forAll: queue === everyQueue,
  };
}

/** Like authorized(), for two queues: the source and the target. */
export function authorizedForBoth(
  scope: Scope,
  queues: [from: string, to: string],
  select: string,
  from: string,
  own?: TenantScope,
): Statement {
  return checked(
    (check) => `select row_to_json(answer)::text as body
from (select ${queues.map((queue) => check(scope, queue, own)).join(' and ')}) as key (allowed)
${lateralAnswer(select, from)}`,
  );
}

/** Like authorized(), for all queues that a select returns. */
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
${lateralAnswer(select, from)}`,
  );
}

/**
 * Like authorized(), for the queues and stages of all tasks in $2, and an optional further queue. The verb must use
 * `key.ids` instead of $2: the tasks that existed at the check, without tasks of other tenants. The verb's snapshot is
 * newer than the check's, and ids can be guessed, so $2 could name a task that was enqueued after the check.
 */
export function authorizedForTasks(
  scope: Scope,
  select: string,
  from: string,
  also?: string,
): Statement {
  const check = checks.key;
  const and = also ? ` and ${check(scope, also, 'own tasks')}` : '';
  const keyStatement = `with known as materialized (
  select ${check(scope, null, 'own tasks')} as allowed, tock.tenants_of_key(p_key => $1) as tenants
), tasks as materialized (
  select i.id, tock.queue_for_authorization(p_key => $1, p_id => i.id) as queue
  from known
  cross join lateral (
    select u.id from unnest($2::bigint[]) as u (id) where known.allowed
      and (known.tenants is null or (tock.rights_of_task(p_id => u.id)).tenant = any (known.tenants)) offset 0) as i
), key as materialized (
  select bool_and(${check(scope, 'q.queue', 'own tasks')})${and} as allowed,
    array(select t.id from tasks as t where t.queue is not null) as ids
  from (select distinct t.queue from tasks as t) as q
)`;
  const roleStatement = `with key as materialized (
  select ${checks['database role'](scope, null)} as allowed, $2::bigint[] as ids
)`;
  const rest = `
select row_to_json(answer)::text as body
from key
${lateralAnswer(select, from)}`;
  return { key: keyStatement + rest, 'database role': roleStatement + rest, scope };
}

const hint = 'Send Authorization: Bearer with a key; tock key create creates one.';

/** The key of a request; throws a 401 if it is missing or malformed. */
export function bearerKey(header: string | undefined): string {
  if (!header) throw refusal(401, 'The request has no key.', { field: 'Authorization', hint });
  const [, key] = /^Bearer +([\w.~+/=-]{1,200}) *$/i.exec(header) ?? [];
  if (!key)
    throw refusal(401, 'The Authorization header has no valid bearer key.', {
      field: 'Authorization',
      hint,
    });
  return key;
}
