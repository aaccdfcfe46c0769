import type { Query } from '../database/types.ts';
import { moving } from './errors.ts';

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

/** True if Citus could not send a call on because a shard of the directory was split or moved meanwhile. */
const hasMissedShard = ({ code, message }: { code?: string; message?: string }) =>
  code === 'XX000' && message?.startsWith('could not find valid entry for shard');

/** Runs statements on the node that owns a key, by way of another one. */
export const askBy =
  (query: Query, key: string): Query =>
  async (statement, values = []) => {
    const ask = () => query(askStatement, [key, template(statement), values.map(textOf)]);
    const rows = await ask()
      .catch((error) => {
        if (hasMissedShard(error)) return ask();
        throw error;
      })
      .catch((error) => {
        throw hasMissedShard(error) ? moving() : error;
      });
    return rows.map(({ answer }) => JSON.parse(answer as string));
  };
