// Runs pg-boss's flows for bench/cases/related_tasks.ts, and prints the figures of each round as JSON.
import { PgBoss } from 'pg-boss';
import { payload } from '../payload.ts';

const { url, clients, rounds, tasks, batch } = JSON.parse(process.env.BENCH_WORK ?? '{}');
const boss = new PgBoss({ connectionString: url, max: clients, supervise: false, schedule: false });
boss.on('error', (error) => console.error(error));
await boss.start();

const data = JSON.parse(payload(100));
const names = Array.from({ length: tasks }, (_, n) => `t${n}`);

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1000;
}

/** Fetches and completes this many jobs over all connections. */
async function finish(name: string, count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left > 0) {
      const jobs = await boss.fetch(name, { batchSize: batch });
      if (jobs.length === 0) return;
      await boss.complete(
        name,
        jobs.map(({ id }) => id),
      );
      left -= jobs.length;
    }
  };
  await Promise.all(Array.from({ length: clients }, worker));
  if (left > 0) throw new Error(`${left} of ${count} jobs were not to be had.`);
}

async function fanOut(name: string) {
  await boss.createQueue(name);
  await boss.createQueue(`${name}-delayed`);
  const children = names.map((ref) => ({ ref, name, data, dependsOn: ['parent'] }));
  const after = await seconds(() => boss.flow([{ ref: 'parent', name, data }, ...children]));
  const delayed = names.map(() => ({ data, startAfter: 3600 }));
  const plain = await seconds(() => boss.insert(`${name}-delayed`, delayed));
  const ready = await seconds(async () => {
    await finish(name, 1);
    await boss.resolveFlow();
  });
  await finish(name, tasks);
  return { after: tasks / after, plain: tasks / plain, ready: ready * 1000 };
}

async function fanIn(name: string) {
  await boss.createQueue(name);
  const parents = names.map((ref) => ({ ref, name, data }));
  await boss.flow([...parents, { ref: 'sum', name, data, dependsOn: names }]);
  const after = await seconds(() => finish(name, tasks));
  const called = await seconds(async () => {
    await boss.resolveFlow();
    await finish(name, 1);
  });
  await boss.insert(
    name,
    names.map(() => ({ data })),
  );
  const plain = await seconds(() => finish(name, tasks));
  return { after: tasks / after, plain: tasks / plain, called: called * 1000 };
}

const results = [];
// The first round only warms plans and caches.
for (let round = 0; round <= rounds; round++) {
  results.push({ out: await fanOut(`out${round}`), into: await fanIn(`in${round}`) });
}
console.log(JSON.stringify(results.slice(1)));
process.exit(0);
