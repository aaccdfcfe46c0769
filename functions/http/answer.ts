/** The row of a statement, undefined without one. `body` is the answer's JSON text, as PostgreSQL wrote it. */
export type Answer = { body: string; pushes?: boolean } | undefined;
