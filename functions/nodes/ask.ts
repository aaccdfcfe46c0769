import type { Query } from '../database/types.ts';

/** The elements of an array in PostgreSQL's notation. */
const element = (value: unknown): string => {
  const text = textOf(value);
  return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
};

/** A parameter as text, as the pg driver sends it. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return `{${value.map(element).join(',')}}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * A statement as a template of format(). A literal has no type, as a parameter has none. So PostgreSQL infers the same
 * types, and the statement need not differ.
 */
const template = (statement: string) =>
  `select row_to_json(r)::text from (${statement}) as r`
    .replaceAll('%', '%%')
    .replaceAll(/\$(\d+)/g, '%$1$$L');

// Citus sends the call to another node only in this form: with `where`, a join or a second column it would run here.
const askStatement =
  'select a.answer from tock_nodes.ask(p_key => $1, p_statement => $2, p_values => $3) as a (answer)';

/** An error of Citus that has no SQLSTATE of its own. */
const isOfCitus = (error: { code?: string; message?: string }, message: string) =>
  error.code === 'XX000' && error.message?.startsWith(message);

/** Runs statements on the node that owns a key, by way of another one. */
export const askBy =
  (query: Query, key: string): Query =>
  async (statement, values = []) => {
    const ask = () => query(askStatement, [key, template(statement), values.map(textOf)]);
    const rows = await ask().catch((error) => {
      // A shard of the directory was split or moved meanwhile, so Citus has not sent the call on.
      if (isOfCitus(error, 'could not find valid entry for shard')) return ask();
      if (isOfCitus(error, 'postmaster was shut down')) error.code = '57P01';
      throw error;
    });
    return rows.map(({ answer }) => JSON.parse(answer as string));
  };
