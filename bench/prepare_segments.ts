import type pg from 'pg';

const value = async (client: pg.Client, sql: string, values: unknown[] = []) =>
  Object.values((await client.query(sql, values)).rows[0] ?? {})[0];

/** Moves the sequence to the next segment, so that positions continue there. */
async function pass(client: pg.Client, steps = 1): Promise<void> {
  await client.query(
    `select setval('tock.positions', (select end_position from tock.segments
       where number = tock.newest_segment() + $1 - 1))`,
    [steps],
  );
}

/**
 * Advances a database to its `count`th segment minus two. Every fourth earlier segment holds a task of a paused queue,
 * the others are closed. The last segments are wide.
 */
export async function grow(client: pg.Client, count: number): Promise<string> {
  await client.query(`select tock.put_queue('paused', '{"paused": true}')`);
  const numbers = 'select max(number) from tock.segments';
  for (;;) {
    const more = Math.min(10, count - 3 - Number(await value(client, numbers)));
    if (more <= 0) break;
    const ahead = 'max(number) - tock.newest_segment() + $1';
    await client.query(
      `select tock.create_segments(p_ahead => ${ahead}, p_width => 2000) from tock.segments`,
      [more],
    );
  }
  // create_segments() may choose twice the width, so the width is given.
  await client.query(
    `select tock.create_segments(p_ahead => $1 - tock.newest_segment(), p_width => 16777216)`,
    [count],
  );
  for (;;) {
    const left = count - 2 - Number(await value(client, 'select tock.newest_segment()'));
    if (left <= 0) break;
    await client.query("select tock.enqueue('paused', '[{}]')");
    await pass(client, Math.min(4, left));
  }
  await client.query("select nextval('tock.positions')");
  const settled = 'select count(*) from tock.segments where closed_at is not null';
  for (let before = -1; ; ) {
    await client.query('select tock.deactivate_streams(), tock.create_segments()');
    const now = Number(await value(client, settled));
    if (now === before) break;
    before = now;
  }
  return String(
    await value(
      client,
      `select format('%s segments, in use %s, settled %s, kept unsettled %s', count(*), tock.newest_segment(),
         count(closed_at), count(*) filter (where closed_at is null and number < tock.newest_segment()))
       from tock.segments`,
    ),
  );
}
