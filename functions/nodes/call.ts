import type { Query } from '../database/types.ts';
import type { Answer } from '../http/answer.ts';
import type { Call } from '../http/call.ts';

type Fields = Record<string, unknown>;

/** A call as the table of placements sees it. */
export type RoutedCall = Call<Record<string, string>, Fields, Record<string, string | undefined>>;

/** Runs the statement of a call. */
export type Run<C> = (query: Query, call: C) => Promise<Answer>;

/** The answer of one node. */
// biome-ignore lint/suspicious/noExplicitAny: a merge knows the answers of its route
export type Part = { node: number; body: any };

/** Makes one answer of those of several nodes. */
export type Merge = (parts: readonly Part[], call: RoutedCall) => object;
