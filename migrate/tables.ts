import type pg from 'pg';
import { describe } from './blockers.ts';
import { Failure } from './failure.ts';

// Each attempt is longer than the one before, for busy machines. All are shorter than deadlock_timeout (1 s), so that
// no call fails with a deadlock.
const firstTry = 200;
const longestTry = 800;
const pause = 100;

const users = `
  select distinct l.virtualtransaction as transaction
  from pg_catalog.pg_locks l join pg_catalog.pg_class c on c.oid = l.relation
  where l.granted and l.pid is distinct from pg_catalog.pg_backend_pid()
    and c.relnamespace = (select n.oid from pg_catalog.pg_namespace n where n.nspname = 'tock')
    and l.database = (
      select d.oid from pg_catalog.pg_database d
      where d.datname = pg_catalog.current_database())`;

const sessions = `
  select distinct on (u.pid) u.pid, a.usename, a.application_name, a.client_addr, a.state, a.query,
    extract(epoch from pg_catalog.clock_timestamp() - a.xact_start)::integer as open_seconds
  from (
    select distinct coalesce(l.pid, 0) as pid
    from pg_catalog.pg_locks l where l.virtualtransaction = any ($1)) u
  left join pg_catalog.pg_stat_activity a on a.pid = u.pid`;

const isLockFailure = (error: pg.DatabaseError) => /^(55P03|57014|40P01)$/.test(error.code ?? '');

const attempt = (client: pg.Client, statement: string, milliseconds: number) =>
  client.query(`set local statement_timeout = ${milliseconds}`).then(() =>
    client.query(statement).then(
      () => null,
      (error: pg.DatabaseError) => error,
    ),
  );

/**
 * Tries a `lock table` for up to `seconds`; an attempt locks all tables or none. While an attempt waits for one table
 * and holds others, calls wait for it, and some could deadlock with it. So each attempt is short.
 */
export async function lockTables(client: pg.Client, statement: string, seconds: number) {
  const deadline = Date.now() + seconds * 1000;
  const { rows } = await client.query("select current_setting('statement_timeout') as timeout");
  // PostgreSQL hides when transactions of other roles began. So a transaction seen at every attempt is the blocker.
  let always: string[] | undefined;
  await client.query('savepoint tables');
  for (let tried = firstTry; ; tried = Math.min(longestTry, tried + 50)) {
    const error = await attempt(client, statement, tried);
    if (!error) break;
    await client.query('rollback to savepoint tables');
    if (!isLockFailure(error)) throw error;
    const current = (await client.query(users)).rows.map((row) => String(row.transaction));
    always = always?.filter((transaction) => current.includes(transaction)) ?? current;
    if (Date.now() > deadline) {
      const blockers = (await client.query(sessions, [always])).rows.map(describe).join('\n');
      throw new Failure(
        `Tock's tables were not free at the same time for ${seconds} s.
Blocked by: ${blockers || 'no single transaction, but many short calls'}`,
        'Nothing was changed. Wait for it or end it (select pg_terminate_backend(<process>)), then migrate again.',
      );
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  await client.query(`set local statement_timeout = '${rows[0].timeout}'`);
}
