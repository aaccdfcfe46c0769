import { refusal } from './problem.ts';

export type Scope = 'enqueue' | 'claim' | 'read' | 'admin';

/** For what concerns every queue: a key that is limited to some does not pass. */
export const everyQueue = "'*'";

/**
 * Puts the key's check in front of a verb, in its statement, and makes the columns selected the
 * fields of the answer. $1 is the key; `queue` the SQL of the queue it must be for. The verb refers
 * to what the check returned, so it can't run before.
 */
export function authorized(scope: Scope, queue: string, select: string, from: string): string {
  return `select row_to_json(answer)::text as body
from tock.authorize(p_key => $1, p_scope => '${scope}', p_queue => ${queue}) as key (allowed)
cross join lateral (select ${select} from ${from} where key.allowed offset 0) as answer`;
}

const hint = 'Send Authorization: Bearer with a key; tock key create makes one.';

/** The key of a request. What can't be one goes no further. */
export function bearerKey(header: string | undefined): string {
  if (!header) throw refusal(401, 'There is no key.', { field: 'Authorization', hint });
  const [, key] = /^Bearer +([\w.~+/=-]{1,200}) *$/i.exec(header) ?? [];
  if (!key) throw refusal(401, 'This is no bearer key.', { field: 'Authorization', hint });
  return key;
}
