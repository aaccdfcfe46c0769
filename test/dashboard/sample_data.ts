import type pg from 'pg';

type Client = Pick<pg.ClientBase, 'query'>;

/** Adds the queues of a small shop: some without problems, and some with problems. */
export async function addSampleData(client: Client): Promise<void> {
  const sql = (text: string, values: unknown[] = []) => client.query(text, values);
  const enqueue = (queue: string, tasks: unknown) =>
    sql('select tock.enqueue(p_queue => $1, p_tasks => $2)', [queue, JSON.stringify(tasks)]);
  const many = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_, n) => ({ payload: { order: 1000 + n }, ...more }));
  const claim = async (queue: string, limit: number, worker: string, seconds = 60) =>
    (
      await sql(
        'select lease from tock.claim(p_queue => $1, p_worker => $2, p_limit => $3, p_lease_seconds => $4)',
        [queue, worker, limit, seconds],
      )
    ).rows[0]?.lease;

  for (let n = 0; n < 40; n++) {
    await enqueue('emails', many(5, { tenant: `shop-${n % 7}` }));
    const lease = await claim('emails', 5, `mailer-${n % 3}`);
    if (n % 9 === 4) {
      await sql('select tock.fail(p_lease => $1, p_failures => $2)', [
        lease,
        JSON.stringify({ error: { name: 'SMTPError', message: '421 try again later' } }),
      ]);
    } else if (lease) await sql('select tock.complete(p_lease => $1)', [lease]);
  }
  await enqueue('emails', many(12));
  await claim('emails', 6, 'mailer-1', 300);

  await enqueue('images', many(340));
  await enqueue('albums', [...many(3), { depends_on: ['*'], on_parent_failure: 'wait' }]);
  await sql(`select tock.put_queue('reports', '{"paused": true}')`);
  await enqueue('reports', many(25, { priority: 2 }));

  await enqueue('payments', many(8, { concurrency_key: 'acct-17' }));
  await enqueue('payments', many(3, { concurrency_key: 'acct-4' }));
  await claim('payments', 1, 'payer-1', 3600);

  await sql(`select tock.put_queue('imports', '{"max_attempts": 1}')`);
  await enqueue('imports', many(30));
  for (let n = 0; n < 3; n++) {
    const message = n === 0 ? 'no such column: "colour"' : 'connection reset by peer';
    await sql('select tock.fail(p_lease => $1, p_failures => $2)', [
      await claim('imports', n === 0 ? 17 : 4, 'importer'),
      JSON.stringify({ error: { name: 'ImportError', message } }),
    ]);
  }
  await enqueue('newsletters', many(120, { delay_seconds: 5400, tenant: 'acme' }));
  await sql(
    `select tock.put_schedule('nightly-report', '{"queue":"reports","cron":"0 3 * * MON-FRI","time_zone":"Europe/Berlin"}'),
      tock.put_schedule('heartbeat', '{"queue":"emails","every_seconds":300}')`,
  );
  await sql(`select tock.join_pool('drivers', 'ana', 600), tock.join_pool('drivers', 'ben', 600)`);
  await sql(`select tock.assign_task('drivers', 'trip-81')`);
}
