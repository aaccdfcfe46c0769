import { expect, test } from 'vitest';
import { readSql } from '../../migrate/files.ts';
import { statements } from '../../migrate/statements.ts';

const texts = (sql: string) => statements(sql).map((statement) => statement.text);

test('semicolons in strings, names, bodies and comments do not end a statement', () => {
  const parts = [
    `select ';', 'it''s;', E'\\';', ";"`,
    'select $$ ; $$, $a$ ; $$ ; $a$',
    'select 1 -- ;\n + 1',
    'select 2 /* ; /* ; */ ; */ + 2',
    'create rule r as on insert to t do also (select 1; select 2)',
  ];
  expect(texts(parts.map((part) => `${part};`).join('\n'))).toEqual(parts.map((p) => `${p};`));
});

test('a body in standard SQL is one statement', () => {
  const body =
    'create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end;';
  expect(texts(`${body} select 3`)).toEqual([body, 'select 3']);
});

test('a statement knows its line, without the comments before it', () => {
  const parsed = statements('-- one\n\nselect 1;\n/* two\n*/ select 2;\n-- end\n');
  expect(parsed.map(({ text, line }) => [text, line])).toEqual([
    ['select 1;', 3],
    ['select 2;', 5],
  ]);
});

test("every statement of Tock's own SQL begins with a known word", () => {
  for (const file of Object.values(readSql()).flat()) {
    for (const { words, line } of statements(file.sql)) {
      const first = `${file.name}:${line} ${words[0]}`;
      expect(first).toMatch(
        / (create|alter|drop|insert|update|delete|comment|grant|revoke|select|do|lock)$/,
      );
    }
  }
});
