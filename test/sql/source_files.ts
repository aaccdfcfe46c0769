import { readSql } from '../../migrate/files.ts';

export type SqlFunction = { name: string; file: string; text: string; code: string };

const { functions: plain, templates } = readSql();

/** The files that define functions, with the templates. */
export const files = [...plain, ...templates];

/** SQL without comments, descriptions and one-line strings, which call nothing. */
const codeOf = (sql: string) =>
  sql
    .replace(/--[^\n]*/g, '')
    .replace(/^comment on [^;]*?;$/gms, '')
    .replace(/(?<![\w$])'(?:[^'\n]|'')*'/g, "''");

/** The functions of a template are the same in every segment: a star replaces the segment. */
const nameOf = (written: string) => written.replace(/_\{(suffix|segment)\}$/, '*');

function inFile(file: string, sql: string): SqlFunction[] {
  const starts = [
    ...sql.matchAll(/^create or replace (?:function|procedure|view) tock\.([\w{}]+)/gm),
  ];
  return starts.map((start, at) => {
    const text = sql.slice(start.index, starts[at + 1]?.index);
    return { name: nameOf(start[1] as string), file, text, code: codeOf(text) };
  });
}

export const functions = new Map(
  files
    .flatMap(({ name, sql }) => inFile(name, sql))
    .map((sqlFunction) => [sqlFunction.name, sqlFunction]),
);

/** The functions that one calls. Functions of a segment are called by name_current(), or by name_%s() in a string. */
export function dependencies(sqlFunction: SqlFunction): SqlFunction[] {
  const direct = sqlFunction.code.matchAll(/tock\.(\w+?)(_current|_\{(?:suffix|segment)\})?\(/g);
  const dynamic = sqlFunction.text.matchAll(/tock\.(\w+)(_%s)\(/g);
  const called = [...direct, ...dynamic].map(([, name, segment]) => name + (segment ? '*' : ''));
  return [...new Set(called)]
    .filter((name) => name !== sqlFunction.name)
    .flatMap((name) => functions.get(name) ?? []);
}

const strings = /--[^\n]*|'((?:[^']|'')*)'|(\$\w*\$)([\s\S]*?)\2/g;

/** The SQL in string literals within function bodies. */
export function literals(sql: string): string[] {
  return [...sql.matchAll(strings)].flatMap(([, , , body]) =>
    [...(body ?? '').matchAll(strings)].flatMap(([, quoted, , text]) => {
      const isStatement = /^\s*(?:select|insert|update|delete|with)\b/i.test(quoted ?? '');
      return text ?? (isStatement ? (quoted ?? []) : []);
    }),
  );
}
