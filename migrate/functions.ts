import type pg from 'pg';
import { apply } from './apply.ts';
import { Failure } from './failure.ts';
import { type SqlFile, templateName } from './files.ts';

// A body may call functions of later files, so "create function" does not check it. After all functions exist, the same
// validator checks all bodies.
const unchecked = 'set local check_function_bodies = off';
const checked = 'set local check_function_bodies = on';
const validate = `
  select case l.lanname
    when 'plpgsql' then pg_catalog.plpgsql_validator(p.oid)
    when 'sql' then pg_catalog.fmgr_sql_validator(p.oid) end
  from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
  where p.pronamespace = 'tock'::regnamespace`;

/** The position of a function's body in its file. */
function findBody(files: SqlFile[], error: pg.DatabaseError): { file: SqlFile; at: number } | null {
  // The error's query is the body if the error is in it; otherwise the context names the function.
  const text = error.internalQuery;
  const name = /function "(\w+)"/.exec(error.where ?? '')?.[1] ?? '';
  const base = name.replace(/_(\d+|current)$/, '');
  const head = new RegExp(`function tock\\.(?:${name}|${base}_\\{(?:suffix|segment)\\})\\(`);
  for (const file of files) {
    const offset = text ? file.sql.indexOf(text) : file.sql.search(head);
    if (offset >= 0) return { file, at: text ? offset : file.sql.indexOf('$$', offset) };
  }
  return null;
}

const lineAt = (text: string, at: number) => text.slice(0, at).split('\n').length;

/** A validator's error with its file and line. */
function located(error: pg.DatabaseError, files: SqlFile[]): Error {
  const body = findBody(files, error);
  if (!error.code || !body) return error;
  const { file, at } = body;
  const within = error.internalQuery
    ? lineAt(error.internalQuery, Number(error.internalPosition))
    : Number(/ line (\d+)/.exec(error.where ?? '')?.[1] ?? 1);
  const line = lineAt(file.sql, at) + within - 1;
  const text = file.sql.split('\n')[line - 1]?.trim() ?? '';
  const message = `sql/${file.name} line ${line}: ${error.message} (${error.code})\n  ${line} | ${text}`;
  return Object.assign(new Failure(message), { code: error.code });
}

/** Creates or replaces all functions. Their order does not matter. */
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

/** Stores the templates of each segment's functions; after_install.sql compiles them. */
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
