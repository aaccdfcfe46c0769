import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type SqlContext, type SqlPool, type WorkOptions, workSql } from '../../client/sql.ts';
import { type Database, freshDatabase } from '../database.ts';

/** What useSqlDatabase() makes before the tests of a file: a database with a table `effects`. */
export let db: Database;
export let owner: pg.Client;
/** Logs in with a role that has only the rights that a user's worker needs. */
export let pool: pg.Pool;

export function useSqlDatabase(): void {
  beforeAll(async () => {
    db = await freshDatabase();
    owner = await db.connect();
    const admin = await db.connect(db.superUrl);
    const role = `shop_${db.name}`;
    await admin.query(
      `create role ${role} login password 'shop' in role tock_producer, tock_worker`,
    );
    await admin.query(`create table effects (n integer unique deferrable initially deferred);
      grant all on effects to tock, ${role}`);
    const url = Object.assign(new URL(db.url), { username: role, password: 'shop' });
    pool = new pg.Pool({ connectionString: url.href, max: 3 });
    pool.on('error', () => {});
  });
  afterAll(async () => {
    await pool.end();
    const admin = await db.connect(db.superUrl);
    await admin.query(`drop table effects; drop role shop_${db.name}`);
    await db.drop();
  });
}

let count = 0;
/** A number that no other test of the file has. */
export const fresh = () => ++count;

export async function enqueue(...payloads: unknown[]): Promise<[queue: string, ids: string[]]> {
  const queue = `sql${fresh()}`;
  const tasks = JSON.stringify(payloads.map((payload) => ({ payload })));
  const { rows } = await owner.query('select tock.enqueue($1, $2)::text[] as ids', [queue, tasks]);
  return [queue, rows[0].ids];
}

export const task = async (id?: string) =>
  (await pool.query('select * from tock.task($1)', [id])).rows[0];

/** Which of these effects are stored. */
export async function effects(...numbers: number[]): Promise<number[]> {
  const statement = 'select n from effects where n = any ($1) order by n';
  return (await owner.query(statement, [numbers])).rows.map(({ n }) => n);
}

export const add = (n: number, { client }: Pick<SqlContext, 'client'>) =>
  client.query('insert into effects (n) values ($1)', [n]);

/** Works on a queue until it is empty, one task at a time. Returns the counts and the errors. */
export async function worked(
  queue: string,
  handle: (payload: number, context: SqlContext) => unknown,
  options: WorkOptions = {},
  from: SqlPool = pool,
) {
  const heard: { message: string }[] = [];
  const on_error = (error: unknown) => void heard.push(error as Error);
  const handler = (claimed: { payload: unknown }, context: SqlContext) =>
    handle(claimed.payload as number, context);
  const toTheEnd = { until: 'empty', on_error, ...options } as const;
  return { counts: await workSql(from, queue, handler, toTheEnd), heard };
}
