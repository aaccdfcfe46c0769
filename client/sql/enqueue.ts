import type { AnyQueues, Name, Repeatable, TaskOptions } from '../types.ts';
import { asRefusal, type SqlClient } from './ask.ts';

/**
 * A query as a tagged template: postgres.js's `sql` is one as it is; Drizzle's and Kysely's `sql` and Prisma's
 * `$queryRaw` become one by a function of a line. It answers rows, or an object with them.
 */
export type SqlTag = (
  strings: TemplateStringsArray,
  ...values: (string | null)[]
) => PromiseLike<unknown>;

/** What the handle of a transaction can be; also a connection, for a transaction of its own. */
export type SqlQuery = Pick<SqlClient, 'query'> | SqlTag;

type Enqueued<Q> = {
  [N in Name<Q>]: [queue: N, payload: Q[N], options?: TaskOptions & Repeatable];
}[Name<Q>];

const rowsOf = (answer: unknown) =>
  (Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows) as { id: string }[];

/** A template tag for what takes a text and its values. */
const tagOf =
  (client: Pick<SqlClient, 'query'>): SqlTag =>
  (strings, ...values) => {
    const text = strings.reduce((before, after, n) => `${before}$${n}${after}`);
    return client.query(text, values);
  };

/** An ORM's error has the database's as its cause. */
function refusalOf(error: unknown): unknown {
  const known = asRefusal(error);
  const cause = known === error && error instanceof Error ? error.cause : undefined;
  const within = cause && asRefusal(cause);
  return within === cause ? known : within;
}

/**
 * Adds a task in the transaction that `client` is in, so that both are committed or neither; returns its id, or with
 * a unique_key that of the task that stands for the key. A refusal is a TockError, and the transaction is then over.
 */
export async function enqueueSql<Q = AnyQueues>(
  client: SqlQuery,
  ...[queue, payload, { request_id, ...options } = {}]: Enqueued<Q>
): Promise<string> {
  const sql = typeof client === 'function' ? client : tagOf(client);
  const tasks = JSON.stringify([{ ...options, payload: payload ?? null }]);
  try {
    // By way of text: postgres.js would encode the text once more for jsonb, and Prisma sends text only.
    const [row] = rowsOf(
      await sql`select (tock.enqueue(p_queue => ${queue}::text, p_tasks => ${tasks}::text::jsonb, p_request_id => ${request_id ?? null}::text))[1]::text as id`,
    );
    return (row as { id: string }).id;
  } catch (error) {
    throw refusalOf(error);
  }
}
