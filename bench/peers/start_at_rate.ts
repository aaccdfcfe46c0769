// Adds a job for each number that the parent process sends, and sends the number back when the job starts, in the own
// runner of the peer that BENCH_WORK names.
const { url, name, batch } = JSON.parse(process.env.BENCH_WORK ?? '{}');

type Job = { n: number };
const started = ({ n }: Job) => process.send?.(n);

async function graphileWorker(): Promise<(n: number) => Promise<unknown>> {
  const { Logger, makeWorkerUtils, run } = await import('graphile-worker');
  const logger = new Logger(() => () => {});
  await run({
    connectionString: url,
    concurrency: batch,
    taskList: { start: (payload) => void started(payload as Job) },
    parsedCronItems: [],
    noHandleSignals: true,
    logger,
  });
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  return (n) => utils.addJob('start', { n });
}

async function pgBoss(): Promise<(n: number) => Promise<unknown>> {
  const { PgBoss } = await import('pg-boss');
  const boss = new PgBoss({ connectionString: url, useListenNotify: true });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue('start', { notify: true });
  await boss.work<Job>('start', { batchSize: batch }, async (jobs) => {
    for (const { data } of jobs) started(data);
  });
  return (n) => boss.send('start', { n });
}

const send = await (name === 'graphile-worker' ? graphileWorker() : pgBoss());
process.on('message', (n: number) => {
  send(n).catch((error) => {
    console.error(error);
    process.exit(1);
  });
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
