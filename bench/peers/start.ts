// Measures the milliseconds from sending a job to its start, in the own runner of the peer that BENCH_WORK names.
const { url, name, seconds, gap } = JSON.parse(process.env.BENCH_WORK ?? '{}');

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
let started = () => {};

async function graphileWorker(): Promise<() => Promise<unknown>> {
  const { Logger, makeWorkerUtils, run } = await import('graphile-worker');
  const logger = new Logger(() => () => {});
  await run({
    connectionString: url,
    taskList: { start: () => started() },
    parsedCronItems: [],
    noHandleSignals: true,
    logger,
  });
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  return () => utils.addJob('start', { n: 1 });
}

async function pgBoss(): Promise<() => Promise<unknown>> {
  const { PgBoss } = await import('pg-boss');
  const boss = new PgBoss({ connectionString: url, useListenNotify: true });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue('start', { notify: true });
  await boss.work('start', async () => started());
  return () => boss.send('start', { n: 1 });
}

const send = await (name === 'graphile-worker' ? graphileWorker() : pgBoss());
const latencies: number[] = [];
const until = performance.now() + seconds * 1000;
while (latencies.length === 0 || performance.now() < until) {
  const { promise, resolve } = Promise.withResolvers<void>();
  started = resolve;
  await pause(Math.random() * gap * 1000);
  const sent = performance.now();
  const added = send();
  await promise;
  latencies.push(performance.now() - sent);
  await added;
}
console.log(JSON.stringify(latencies.slice(latencies.length > 1 ? 1 : 0)));
process.exit(0);
