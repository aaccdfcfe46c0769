import type pg from 'pg';
import { Failure } from '../failure.ts';
import { apply } from './apply.ts';
import type { SqlFile } from './files.ts';

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

/** Where a function's body begins: its file, and the number of its line with the opening dollars. */
function bodyOf(files: SqlFile[], name: string): { file: SqlFile; line: number } | null {
  const head = new RegExp(`create or replace (?:function|procedure) tock\\.${name}\\b`);
  for (const file of files) {
    const found = head.exec(file.sql);
    if (!found) continue;
    const body = file.sql.indexOf('$$', found.index);
    return { file, line: file.sql.slice(0, body).split('\n').length };
  }
  return null;
}

/** The error of a validator with the file and line that it is about. */
function located(error: pg.DatabaseError, files: SqlFile[]): Error {
  const name = /function "(\w+)"/.exec(error.where ?? '')?.[1] ?? '';
  const body = bodyOf(files, name);
  if (!error.code || !body) return error;
  // Where there is a position, it counts in the body; where there is none, the context may name a line of the body.
  const { file } = body;
  const before = error.internalQuery?.slice(0, Number(error.internalPosition));
  const named = Number(/ line (\d+)/.exec(error.where ?? '')?.[1] ?? 1);
  const further = before === undefined ? named : before.split('\n').length;
  const line = body.line + further - 1;
  const text = file.sql.split('\n')[line - 1]?.trim() ?? '';
  const what = `sql/${file.name} line ${line}: ${error.message} (${error.code})\n  ${line} | ${text}`;
  return Object.assign(new Failure(what), { code: error.code });
}

/** Creates or replaces all functions, whatever their order, then checks every body. */
export async function applyFunctions(client: pg.Client, files: SqlFile[]): Promise<void> {
  await client.query(unchecked);
  for (const file of files) await apply(client, file);
  await client.query(checked);
  await client.query(validate).catch((error) => {
    throw located(error, files);
  });
}
