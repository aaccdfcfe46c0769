import type pg from 'pg';
import { apply } from './apply.ts';
import { Failure } from './failure.ts';
import { type SqlFile, templateName } from './files.ts';

// A body may name functions of files that come later, so bodies are checked once all functions are there: by what
// "create function" itself would have called.
const unchecked = 'set local check_function_bodies = off';
const checked = 'set local check_function_bodies = on';
const validate = `
  select case l.lanname
    when 'plpgsql' then pg_catalog.plpgsql_validator(p.oid)
    when 'sql' then pg_catalog.fmgr_sql_validator(p.oid) end
  from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
  where p.pronamespace = 'tock'::regnamespace`;

/** Where a function's body begins in its file. */
function bodyOf(files: SqlFile[], error: pg.DatabaseError): { file: SqlFile; at: number } | null {
  // The text of the body where the error is in it; else the context names the function.
  const text = error.internalQuery;
  const name = /function "(\w+)"/.exec(error.where ?? '')?.[1] ?? '';
  const base = name.replace(/_(\d+|current)$/, '');
  const head = new RegExp(`function tock\\.(?:${name}|${base}_\\{(?:suffix|segment)\\})\\(`);
  for (const file of files) {
    const found = text ? file.sql.indexOf(text) : file.sql.search(head);
    if (found >= 0) return { file, at: text ? found : file.sql.indexOf('$$', found) };
  }
  return null;
}

const lineAt = (text: string, at: number) => text.slice(0, at).split('\n').length;

/** The error of a validator with the file and line that it is about. */
function located(error: pg.DatabaseError, files: SqlFile[]): Error {
  const body = bodyOf(files, error);
  if (!error.code || !body) return error;
  const { file, at } = body;
  const within = error.internalQuery
    ? lineAt(error.internalQuery, Number(error.internalPosition))
    : Number(/ line (\d+)/.exec(error.where ?? '')?.[1] ?? 1);
  const line = lineAt(file.sql, at) + within - 1;
  const text = file.sql.split('\n')[line - 1]?.trim() ?? '';
  const what = `sql/${file.name} line ${line}: ${error.message} (${error.code})\n  ${line} | ${text}`;
  return Object.assign(new Failure(what), { code: error.code });
}

/** Creates or replaces all functions, whatever their order. */
export async function applyFunctions(client: pg.Client, files: SqlFile[]): Promise<void> {
  await client.query(unchecked);
  for (const file of files) await apply(client, file);
  await checkBodies(client, files);
}

/** Checks the body of every function. */
export async function checkBodies(client: pg.Client, files: SqlFile[]): Promise<void> {
  await client.query(checked);
  await client.query(validate).catch((error) => {
    throw located(error, files);
  });
}

/** Replaces the templates of the functions that each segment has; after_install.sql compiles them. */
export async function storeTemplates(client: pg.Client, files: SqlFile[]): Promise<void> {
  if (files.length === 0) return;
  await client.query('delete from tock.segment_templates');
  for (const { name, sql } of files) {
    const [, template, kind] = templateName.exec(name) ?? [];
    await client.query(
      'insert into tock.segment_templates (name, kind, file, body) values ($1, $2, $3, $4)',
      [template, kind, name, sql],
    );
  }
}
