import type pg from 'pg';
import { Failure } from './failure.ts';
import type { SqlFile } from './files.ts';
import { type Statement, statements } from './statements.ts';
import { lockTables } from './tables.ts';

const transactionWords = /^(begin|start|commit|end|rollback|abort|savepoint|release|prepare)$/;

function describe(error: pg.DatabaseError): string {
  const details = [error.detail && `Detail: ${error.detail}`, error.hint && `Hint: ${error.hint}`];
  // Without a position, only the context names the line inside a function or a do block.
  if (!error.position && error.where) details.push(`In: ${error.where.split('\n')[0]}`);
  return [`${error.message} (${error.code})`, ...details.filter(Boolean)].join('\n  ');
}

function errorLine(statement: Statement, position?: string): number {
  const textBefore = [...statement.text].slice(0, Number(position ?? 1) - 1);
  return statement.line + textBefore.filter((letter) => letter === '\n').length;
}

/** Runs a file statement by statement, so that an error can name its line. For `lock table` see lockTables(). */
export async function apply(client: pg.Client, file: SqlFile, lockSeconds = 10): Promise<void> {
  for (const statement of statements(file.sql)) {
    if (transactionWords.test(statement.words[0] ?? '')) {
      throw new Failure(
        `sql/${file.name} line ${statement.line}: ${statement.words[0]} is not allowed here.`,
        'All files are applied in one transaction: delete that statement. Nothing was changed.',
      );
    }
    try {
      if (statement.words[0] === 'lock') await lockTables(client, statement.text, lockSeconds);
      else await client.query(statement.text);
    } catch (cause) {
      const error = cause as pg.DatabaseError;
      if (!error.code) throw error;
      const line = errorLine(statement, error.position);
      const text = file.sql.split('\n')[line - 1]?.trim() ?? '';
      const message = `sql/${file.name} line ${line}: ${describe(error)}\n  ${line} | ${text}`;
      throw Object.assign(new Failure(message), { code: error.code, where: error.where });
    }
  }
}
