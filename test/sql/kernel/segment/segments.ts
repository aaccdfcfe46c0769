import type pg from 'pg';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  numberedTasks,
  rows,
  value,
} from '../../verbs.ts';

type Client = Pick<pg.ClientBase, 'query'>;

/** Sets the next position to `left` before the end of the current segment. */
export async function moveNearSegmentEnd(client: Client, left: number): Promise<void> {
  await client.query(
    `select setval('tock.positions', (select e.end_position - $1 from tock.segments e
       where e.end_position > s.last_value order by e.number limit 1))
     from tock.positions s`,
    [left],
  );
}

/**
 * Creates segments; the arguments are SQL. Autovacuum may hold a lock for longer than the short lock_timeout, and then
 * the call is repeated.
 */
export async function createSegments(client: Client, args = ''): Promise<void> {
  for (;;) {
    try {
      await client.query(`select tock.create_segments(${args})`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== 'TK503') throw error;
    }
  }
}

/** Moves positions on to the next segment, and creates segments ahead. */
export async function startNextSegment(client: Client): Promise<void> {
  await moveNearSegmentEnd(client, 0);
  await createSegments(client);
}

/** Closes the segments that have ended and have neither unclaimed nor running runs. */
export async function closeSegments(client: Client): Promise<void> {
  await client.query('select tock.deactivate_streams()');
  await createSegments(client);
}

/** Enqueues and completes tasks one by one, in the current segment. */
export async function enqueueAndComplete(
  client: Client,
  queue: string,
  count: number,
): Promise<string[]> {
  const ids = await enqueue(client, queue, numberedTasks(count));
  for (const runs of await drain(client, queue)) await complete(client, leaseOf(runs));
  return ids;
}

export async function claimRuns(client: pg.Client, queue: string, limit = 1) {
  const runs = await claim(client, queue, { limit });
  return { runs, lease: leaseOf(runs), ids: runs.map((run) => run.id) };
}

/** Moves the close of closed segments back by `interval`, and resets the time of the next drop. */
export async function ageClosedSegments(client: Client, interval: string): Promise<void> {
  await client.query(
    `update tock.segments set closed_at = now() - $1::interval, drop_after = null
     where closed_at is not null`,
    [interval],
  );
}

/** Verifies all closed segments, `limit` runs for each call. */
export async function verifySegments(client: Client, limit = 1_000_000): Promise<void> {
  while ((await value<number>(client, 'select tock.verify_segments($1)', [limit])) > 0);
}

/**
 * Verifies and drops segments until none is left to drop, or a session holds up the drop. Segments that only autovacuum
 * has locked are tried again.
 */
export async function dropExpiredSegments(client: Client): Promise<void> {
  await verifySegments(client);
  for (;;) {
    while ((await value<number>(client, 'select tock.drop_expired_segments()')) > 0);
    const again = await rows(
      client,
      `update tock.segments set drop_after = null where drop_after > now() and not exists (
         select from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where l.relation::regclass::text ~ '^(tock[.])?(runs|leases|results|run_overrides)'
           and a.datname = current_database() and a.usesysid is not null and a.pid <> pg_backend_pid())
       returning number`,
    );
    if (again.length === 0) return;
  }
}

/** Starts the next segment, and closes, verifies and ages the ones before. */
export async function endSegment(client: Client, age = '1 year'): Promise<void> {
  await startNextSegment(client);
  await closeSegments(client);
  await verifySegments(client);
  await ageClosedSegments(client, age);
}

/** Ages and drops the segments that can be dropped. Fails if one of those named is left. */
export async function expectDropped(client: Client, ...numbers: number[]): Promise<void> {
  await closeSegments(client);
  await ageClosedSegments(client, '1 year');
  await dropExpiredSegments(client);
  const left = (await segmentNumbers(client)).filter((number) => numbers.includes(number));
  if (left.length > 0) throw new Error(`Segments that were not dropped: ${left}`);
}

/** The numbers of the segments. Fails if one lacks a partition. */
export async function segmentNumbers(client: Client): Promise<number[]> {
  const segments = await rows<{ number: number; leaves: number }>(
    client,
    `select n.number, count(*)::int as leaves from (
       select substring(c.relname from '^(?:runs|leases|results|run_overrides|steps)_([0-9]+)$')::int as number
       from pg_class c where c.relnamespace = 'tock'::regnamespace and c.relkind = 'r') n
     where n.number is not null group by n.number order by n.number`,
  );
  const torn = segments.filter((segment) => segment.leaves !== 5);
  if (torn.length > 0)
    throw new Error(`Segments without all their partitions: ${JSON.stringify(torn)}`);
  const known = 'select array_agg(number order by number) from tock.segments';
  const expected = (await value<number[]>(client, known)).join();
  const numbers = segments.map((segment) => segment.number);
  if (numbers.join() !== expected)
    throw new Error(`Partitions of segments ${numbers}, but segments ${expected}`);
  return numbers;
}

export async function closedSegmentNumbers(client: Client): Promise<number[]> {
  const closed = 'select number from tock.segments where closed_at is not null order by number';
  return (await rows<{ number: number }>(client, closed)).map((segment) => segment.number);
}
