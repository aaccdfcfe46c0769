import { setTimeout as pause } from 'node:timers/promises';
import type { Place } from './types.ts';

/** First key of the locks here. Tock's is the oid of a schema, which is never as small. */
const space = 1;
let count = 0;

/** Where all clients of one pgbench script meet: they warm up before it and are measured behind it. */
export type Gate = {
  /** The script, each of whose clients stops at the gate when they are called to it. */
  script: string;
  /** Calls them and resolves when all stand there. */
  meet(): Promise<void>;
  open(): Promise<void>;
};

/** Two advisory locks in the place's database, held by its client: the call, and the gate itself. */
export async function closedGate(
  { client }: Place,
  script: string,
  clients: number,
): Promise<Gate> {
  const [call, gate] = [++count, ++count];
  await client.query('select pg_advisory_lock($1, $2)', [space, gate]);
  const standing = async () => {
    const { rows } = await client.query(
      `select count(*)::integer as standing from pg_locks
       where locktype = 'advisory' and classid = $1 and objid = $2 and not granted`,
      [space, gate],
    );
    return rows[0].standing;
  };
  return {
    script: `\\if :met = 0
select pg_try_advisory_xact_lock_shared(${space}, ${call})::integer as warming \\gset
\\if :warming = 0
select pg_advisory_xact_lock_shared(${space}, ${gate});
\\set met 1
\\endif
\\endif
${script}`,
    async meet() {
      await client.query('select pg_advisory_lock($1, $2)', [space, call]);
      const deadline = performance.now() + 60_000;
      while ((await standing()) < clients) {
        if (performance.now() > deadline)
          throw new Error('Not all of its clients came to the gate.');
        await pause(5);
      }
    },
    async open() {
      await client.query('select pg_advisory_unlock_all()');
    },
  };
}
