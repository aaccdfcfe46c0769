import type { AnyQueues, IdempotencyOptions, Name, TaskOptions } from '../types.ts';
import { asRefusal, type SqlClient } from './query.ts';

/**
 * A query as a tagged template. postgres.js's `sql` fits unchanged; a one-line function adapts Drizzle's and Kysely's
 * `sql` and Prisma's `$queryRaw`. It returns rows, or an object with them.
 */
export type SqlTag = (
  strings: TemplateStringsArray,
  ...values: (string | null)[]
) => PromiseLike<unknown>;

/** A client with an open transaction. A client without one adds the task in a transaction of its own. */
export type SqlQuery = Pick<SqlClient, 'query'> | SqlTag;

type EnqueueArguments<Q> = {
  [N in Name<Q>]: [queue: N, payload: Q[N], options?: TaskOptions & IdempotencyOptions];
}[Name<Q>];

const rowsOf = (answer: unknown) =>
  (Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows) as { id: string }[];

/** A template tag for a client that takes a text and its values. */
const tagOf =
  (client: Pick<SqlClient, 'query'>): SqlTag =>
  (strings, ...values) => {
    const text = strings.reduce((before, after, n) => `${before}$${n}${after}`);
    return client.query(text, values);
  };

/** The refusal in an error. An ORM wraps the database's error as the cause of its own. */
function refusalOf(error: unknown): unknown {
  const refusal = asRefusal(error);
  const cause = refusal === error && error instanceof Error ? error.cause : undefined;
  const inner = cause && asRefusal(cause);
  return inner === cause ? refusal : inner;
}

/**
 * Adds a task in the transaction of `client`, so that both commit or neither. Returns the task's id, or with a
 * unique_key the id of the task that holds the key. A refusal is a TockError, and it aborts the transaction.
 */
export async function enqueueSql<Q = AnyQueues>(
  client: SqlQuery,
  ...[queue, payload, { request_id, ...options } = {}]: EnqueueArguments<Q>
): Promise<string> {
  const sql = typeof client === 'function' ? client : tagOf(client);
  const tasks = JSON.stringify([{ ...options, payload: payload ?? null }]);
  try {
    // `::text::jsonb`, because postgres.js would encode a jsonb parameter twice, and Prisma sends only text.
    const [row] = rowsOf(
      await sql`select (tock.enqueue(p_queue => ${queue}::text, p_tasks => ${tasks}::text::jsonb, p_request_id => ${request_id ?? null}::text))[1]::text as id`,
    );
    return (row as { id: string }).id;
  } catch (error) {
    throw refusalOf(error);
  }
}
