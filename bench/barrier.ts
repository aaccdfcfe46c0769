import { setTimeout as pause } from 'node:timers/promises';
import { connected } from './cluster.ts';
import type { TestDatabase } from './types.ts';

/** The first key of the advisory locks here. Tock's locks have the oid of a schema there, which is never so small. */
const space = 1;
let count = 0;

/** The point where all clients of one pgbench script wait between warm-up and measurement. */
export type Barrier = {
  /** The URL with which its clients connect. */
  url: string;
  /** The script; each of its clients stops at the barrier when called. */
  script: string;
  /** Resolves when all clients are connected. */
  connected(): Promise<void>;
  /** Calls the clients to the barrier. Resolves when all of them wait there. */
  meet(): Promise<void>;
  open(): Promise<void>;
  close(): Promise<void>;
};

/** Two advisory locks in the test database: the call to the barrier, and the closed barrier itself. */
export async function closedBarrier(
  { url }: TestDatabase,
  script: string,
  clients: number,
): Promise<Barrier> {
  const client = await connected(url);
  const [call, barrier] = [++count, ++count];
  const name = `bench-${barrier}`;
  await client.query('select pg_advisory_lock($1, $2)', [space, barrier]);
  let closed = false;
  const all = async (from: string) => {
    const text = `select count(*)::integer as clients from ${from}`;
    while (!closed && (await client.query(text)).rows[0].clients < clients) await pause(5);
  };
  return {
    url: Object.assign(new URL(url), { search: `application_name=${name}` }).href,
    script: `\\if :met = 0
select pg_try_advisory_xact_lock_shared(${space}, ${call})::integer as warming \\gset
\\if :warming = 0
select pg_advisory_xact_lock_shared(${space}, ${barrier});
\\set met 1
\\endif
\\endif
${script}`,
    connected: () => all(`pg_stat_activity where application_name = '${name}'`),
    async meet() {
      await client.query('select pg_advisory_lock($1, $2)', [space, call]);
      await all(
        `pg_locks where locktype = 'advisory' and classid = ${space} and objid = ${barrier} and not granted`,
      );
    },
    async open() {
      await client.query('select pg_advisory_unlock_all()');
    },
    async close() {
      closed = true;
      await client.end();
    },
  };
}
