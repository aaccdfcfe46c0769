import type { Method } from '../../../client/call.ts';

// biome-ignore lint/suspicious/noExplicitAny: each verb takes its own arguments
export type Args = Record<string, any>;

/** One call as an HTTP request, and as a statement with its values that returns the same body in one row. */
export type Spelled = {
  http: [method: Method, path: string, body?: object];
  sql: [text: string, ...values: unknown[]];
  /** The status if the statement returns no row; default 404. */
  none?: number;
};
