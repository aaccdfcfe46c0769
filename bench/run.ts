import { setTimeout as pause } from 'node:timers/promises';
import type { TestCluster } from '../scripts/stack/test_cluster.ts';
import { alter, connected, cpuSeconds } from './cluster.ts';
import { interleave } from './interleave.ts';
import { attend, type Opened } from './maintenance.ts';
import { startNode } from './node-work.ts';
import { startPgbench } from './pgbench.ts';
import type { Measured, Run, Side, System, TestDatabase, Worker } from './types.ts';
import { warmUp } from './windows.ts';

export type RunOptions = Pick<
  Run,
  'quick' | 'seconds' | 'rounds' | 'clients' | 'wants' | 'systems' | 'floor' | 'say' | 'defer'
>;

/** The running workers: all() calls a step of each, pass() lets them work, end() ends them. */
type Crew = {
  all(step: (worker: Worker) => Promise<void>): Promise<void>;
  pass(seconds: number): Promise<void>;
  end(): Promise<void>;
};

/** A promise that rejects if the worker fails, and never resolves. */
const failure = ({ over }: Worker) => over.then(() => new Promise<never>(() => {}));

/** Creates a run. It adds errors to `failures`. */
export function makeRun(stack: TestCluster, options: RunOptions, failures: string[]): Run {
  const opened = new Map<TestDatabase, Opened>();
  let count = 0;

  async function start({ database, works }: Side): Promise<Worker[]> {
    const workers: Worker[] = [];
    for (const { work, clients } of works) {
      if (work.by === 'node') workers.push(...startNode(database.url, work, clients));
      else {
        workers.push(await startPgbench(stack.cluster.host, database, work.script, clients));
      }
    }
    return workers;
  }

  /** Starts all workers, calls `during` and ends the workers. Throws if any of them fails. */
  async function atWork<T>(sides: Side[], during: (crew: Crew) => Promise<T>): Promise<T> {
    const workers: Worker[] = [];
    const all = async (step: (worker: Worker) => Promise<void>) => {
      await Promise.race([
        Promise.all(workers.map(step)),
        ...workers.map(failure),
        pause(60_000, null, { ref: false }).then(() => {
          throw new Error('Not all workers started, or ended, within a minute.');
        }),
      ]);
    };
    try {
      for (const side of sides) workers.push(...(await start(side)));
      await all(({ ready }) => ready);
      return await during({
        all,
        pass: (seconds) => all(() => pause(seconds * 1000)),
        async end() {
          await all((worker) => worker.stop());
          await all(({ over }) => over);
        },
      });
    } finally {
      await Promise.all(workers.map((worker) => worker.close()));
    }
  }

  /** Runs a statement as the superuser. */
  async function queried(sql: string): Promise<Record<string, unknown>[]> {
    const client = await connected(stack.cluster.url());
    const { rows } = await client.query(sql).finally(() => client.end());
    return rows;
  }

  async function wal(): Promise<number> {
    const sql = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes";
    return Number((await queried(sql))[0]?.bytes);
  }

  async function together(
    sides: Side[],
    wanted = options.seconds,
    warm = warmUp(wanted),
  ): Promise<Measured[]> {
    const counts = () => Promise.all(sides.map(({ system, database }) => system.counts(database)));
    let attended: (() => Promise<void>)[] = [];
    const look = async () => {
      const all = { counts: await counts(), wal: await wal(), cpu: await cpuSeconds(stack) };
      attended = sides.map(({ database }) => attend(opened.get(database)));
      return all;
    };
    const work = atWork(sides, async ({ all, pass, end }) => {
      await pass(warm);
      await all((worker) => worker.meet());
      const before = await look();
      const from = performance.now();
      await all((worker) => worker.go());
      await pass(wanted);
      await end();
      return { before, seconds: (performance.now() - from) / 1000 };
    });
    const { before, seconds } = await work.finally(() =>
      Promise.all(attended.map((stop) => stop())),
    );
    const cpu = (await cpuSeconds(stack)) - before.cpu;
    const walBytes = (await wal()) - before.wal;
    const after = await counts();
    return sides.map(({ works }, n) => {
      const [from, to] = [before.counts[n], after[n]];
      if (!from || !to) throw new Error('One side was not counted.');
      const enqueued = to.enqueued - from.enqueued;
      const finished = to.finished - from.finished;
      const left = to.enqueued - to.finished;
      const clients = works.reduce((sum, workItem) => sum + workItem.clients, 0);
      if (finished > 0 && left < Math.max(clients, finished / 50)) {
        throw new Error(`The window ran out of tasks: ${finished} finished, ${left} left.`);
      }
      if (enqueued + finished === 0) throw new Error('No task was done in the window.');
      return { seconds, enqueued, finished, walBytes, cpuSeconds: cpu };
    });
  }

  async function open(system: System): Promise<TestDatabase> {
    const name = `bench_${++count}`;
    await queried(`create database ${name} owner tock`);
    const url = new URL(stack.cluster.url(name));
    url.username = 'tock';
    url.password = stack.passwords.owner;
    const database = { url: url.href, client: await connected(url.href) };
    opened.set(database, { database, system, name, open: 0, maintenanceRuns: 0 });
    await system.prepare(database);
    return database;
  }

  async function close(database: TestDatabase): Promise<void> {
    const known = opened.get(database);
    if (!known) return;
    opened.delete(database);
    await database.client.end();
    await queried(`drop database ${known.name} with (force)`);
  }

  async function change(settings: Record<string, string | null>) {
    const { before, restarted } = await alter(stack, settings);
    if (restarted) {
      for (const database of opened.keys()) database.client = await connected(database.url);
    }
    return before;
  }

  return {
    ...options,
    stack,
    bin: stack.cluster.host.bin,
    superUrl: (database) => stack.cluster.url(database),
    open,
    close,
    together,
    async measure(database, system, works, seconds) {
      const [got] = await together([{ database, system, works }], seconds);
      return got as Measured;
    },
    async settle(database) {
      await database.client.query(opened.get(database)?.system.upkeep ?? 'vacuum analyze');
      await queried('checkpoint');
    },
    async load(database, work, { seconds }) {
      const system = opened.get(database)?.system as System;
      const works = [{ work, clients: options.clients }];
      await atWork([{ database, system, works }], async ({ pass, end }) => {
        await pass(seconds);
        await end();
      });
    },
    interleave: (entries) =>
      interleave(entries, options.rounds, (name, message) => {
        failures.push(`${name}: ${message}`);
        options.say(`  ${name} FAILED: ${message}`);
      }),
    async configure(settings) {
      const before = await change(settings);
      return async () => void (await change(before));
    },
  };
}
