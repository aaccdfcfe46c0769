/**
 * The row of a statement, undefined without one. `body` is the answer's JSON text, as PostgreSQL wrote it. `claimed` is
 * that of a claim for a free consumer. `missing` are the nodes of several that did not answer.
 */
export type Answer =
  | { body: string; pushes?: boolean; claimed?: string | null; missing?: readonly number[] }
  | undefined;
