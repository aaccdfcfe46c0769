import type pg from 'pg';
import { Failure } from './failure.ts';
import type { SqlFile } from './files.ts';
import type { Server } from './server.ts';

type Applied = { number: number; name: string; checksum: string; applied_at: Date };

const bootstrap = [
  `create table if not exists tock.migrations (
     number integer primary key,
     name text not null,
     checksum text not null,
     applied_at timestamptz not null default now()
   )`,
  `comment on table tock.migrations is
     'Which migrations have been applied; the checksum is the SHA-256 of the file'`,
];

const record = 'insert into tock.migrations (number, name, checksum) values ($1, $2, $3)';

const day = (at: Date) => at.toISOString().slice(0, 10);

/** True if the first migration has another name here: the migrations were squashed after the database was installed. */
export function isBeforeBaseline(
  applied: Pick<Applied, 'number' | 'name'>[],
  files: Pick<SqlFile, 'number' | 'name'>[],
): boolean {
  const first = applied.find(({ number }) => number === files[0]?.number);
  return first !== undefined && first.name !== files[0]?.name;
}

function check(applied: Applied[], files: SqlFile[]): void {
  const fileByNumber = new Map(files.map((file) => [file.number, file]));
  const last = applied.at(-1);
  if (isBeforeBaseline(applied, files)) {
    throw new Failure(
      `This database is older than the first migration: its migrations begin with ${applied[0]?.name}, those of this Tock with ${files[0]?.name}.`,
      `This version cannot migrate it, and nothing was changed. Stay on the old version, or delete the queues and tasks of this database: run "tock uninstall", then migrate again.`,
    );
  }
  for (const { number, name, checksum, applied_at } of applied) {
    const file = fileByNumber.get(number);
    if (!file) {
      throw new Failure(
        `This database was migrated by a newer Tock: this version does not have sql/${name}, applied on ${day(applied_at)}.`,
        'Install that version or a newer one; an older version can no longer migrate this database.',
      );
    }
    if (file.checksum !== checksum || file.name !== name) {
      throw new Failure(
        `sql/${file.name} differs from ${name}, which was applied on ${day(applied_at)}.`,
        'An applied migration must not change: restore the file, and put the change into a new migration.',
      );
    }
  }
  const skipped = files.find((f) => last && f.number < last.number && !isApplied(applied, f));
  if (skipped) {
    throw new Failure(
      `sql/${skipped.name} has not been applied, although the later ${last?.name} has.`,
      'Give it a number after that one.',
    );
  }
}

const isApplied = (applied: Applied[], file: SqlFile) =>
  applied.some((a) => a.number === file.number);

/** Returns the migrations to apply; creates the table that records them. */
export async function pending(
  client: pg.Client,
  files: SqlFile[],
  { owner, recorded }: Pick<Server, 'owner' | 'recorded'>,
): Promise<SqlFile[]> {
  // "if not exists" would require the right to create a schema even if the schema exists.
  if (owner === null) await client.query('create schema tock');
  if (!recorded) for (const statement of bootstrap) await client.query(statement);
  const { rows } = await client.query<Applied>(
    'select number, name, checksum, applied_at from tock.migrations order by number',
  );
  check(rows, files);
  return files.filter((file) => !isApplied(rows, file));
}

export async function recordMigration(client: pg.Client, file: SqlFile): Promise<void> {
  await client.query(record, [file.number, file.name, file.checksum]);
}
