import { setTimeout as pause } from 'node:timers/promises';
import type { TestCluster } from '../test/cluster.ts';
import { alter, connected, cpuSeconds } from './cluster.ts';
import { attend, type Opened } from './duty.ts';
import { interleave } from './interleave.ts';
import { startNode } from './node-work.ts';
import { startPgbench } from './pgbench.ts';
import type { Measured, Place, Run, Side, System, Worker } from './types.ts';
import { warmUp } from './windows.ts';

export type RunOptions = Pick<
  Run,
  'quick' | 'seconds' | 'rounds' | 'clients' | 'wants' | 'systems' | 'floor' | 'say'
>;

const nothing = async () => {};

/** Rejects when the worker does, and never resolves. */
const failure = ({ over }: Worker) => over.then(() => new Promise<never>(() => {}));

/** Whatever went wrong in it is in `failures`. */
export function makeRun(stack: TestCluster, options: RunOptions, failures: string[]): Run {
  const opened = new Map<Place, Opened>();
  let count = 0;

  async function start({ place, works }: Side): Promise<Worker[]> {
    const workers: Worker[] = [];
    for (const { work, clients } of works) {
      if (work.by === 'node') workers.push(...startNode(place.url, work, clients));
      else {
        workers.push(await startPgbench(stack.cluster.host, place, work.script, clients));
      }
    }
    return workers;
  }

  /** Warms all up, looks while they stand together, lets them go, and says how long they worked. */
  async function window<T>(
    sides: Side[],
    [warming, seconds]: [number, number],
    look: () => Promise<T>,
  ): Promise<{ before: T; seconds: number }> {
    const workers: Worker[] = [];
    const unlessFailed = <R>(done: Promise<R>) => Promise.race([done, ...workers.map(failure)]);
    // one after the other: they may share their place's client
    const each = async (step: (worker: Worker) => Promise<void>) => {
      for (const one of workers) await step(one);
    };
    try {
      for (const side of sides) workers.push(...(await start(side)));
      await unlessFailed(each(({ ready }) => ready));
      await unlessFailed(pause(warming * 1000));
      await unlessFailed(each((one) => one.meet()));
      const before = await look();
      const opened = performance.now();
      await unlessFailed(each((one) => one.go()));
      await unlessFailed(pause(seconds * 1000));
      await unlessFailed(each((one) => one.stop()));
      const late = pause(60_000, null, { ref: false }).then(() => {
        throw new Error('It did not end in time.');
      });
      await Promise.race([Promise.all(workers.map(({ over }) => over)), late]);
      return { before, seconds: (performance.now() - opened) / 1000 };
    } finally {
      await each((one) => one.close());
    }
  }

  /** As the superuser. */
  async function asked(sql: string): Promise<Record<string, unknown>[]> {
    const client = await connected(stack.cluster.url());
    const { rows } = await client.query(sql).finally(() => client.end());
    return rows;
  }

  async function wal(): Promise<number> {
    const sql = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes";
    return Number((await asked(sql))[0]?.bytes);
  }

  async function together(sides: Side[], wanted = options.seconds): Promise<Measured[]> {
    const counts = () => Promise.all(sides.map(({ system, place }) => system.counts(place)));
    let attended: (() => Promise<void>)[] = [];
    const look = async () => {
      const all = { counts: await counts(), wal: await wal(), cpu: await cpuSeconds(stack) };
      attended = sides.map(({ place }) => attend(opened.get(place)));
      return all;
    };
    const { before, seconds } = await window(sides, [warmUp(wanted), wanted], look).finally(() =>
      Promise.all(attended.map((stop) => stop())),
    );
    const cpu = (await cpuSeconds(stack)) - before.cpu;
    const walBytes = (await wal()) - before.wal;
    const after = await counts();
    return sides.map(({ works }, n) => {
      const [from, to] = [before.counts[n], after[n]];
      if (!from || !to) throw new Error('A side was not counted.');
      const enqueued = to.enqueued - from.enqueued;
      const finished = to.finished - from.finished;
      const left = to.enqueued - to.finished;
      const clients = works.reduce((sum, one) => sum + one.clients, 0);
      if (finished > 0 && left < Math.max(clients, finished / 50)) {
        throw new Error(`The window ran dry: ${finished} finished, ${left} left.`);
      }
      if (enqueued + finished === 0) throw new Error('Nothing was done in the window.');
      return { seconds, enqueued, finished, walBytes, cpuSeconds: cpu };
    });
  }

  async function open(system: System): Promise<Place> {
    const name = `bench_${++count}`;
    await asked(`create database ${name} owner tock`);
    const url = new URL(stack.cluster.url(name));
    url.username = 'tock';
    url.password = stack.passwords.owner;
    const place = { url: url.href, client: await connected(url.href) };
    opened.set(place, { place, system, name, open: 0, duties: 0 });
    await system.prepare(place);
    return place;
  }

  async function close(place: Place): Promise<void> {
    const known = opened.get(place);
    if (!known) return;
    opened.delete(place);
    await place.client.end();
    await asked(`drop database ${known.name} with (force)`);
  }

  async function change(settings: Record<string, string | null>) {
    const { before, restarted } = await alter(stack, settings);
    if (restarted) {
      for (const place of opened.keys()) place.client = await connected(place.url);
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
    async measure(place, system, works, seconds) {
      const [got] = await together([{ place, system, works }], seconds);
      return got as Measured;
    },
    async settle(place) {
      await place.client.query(opened.get(place)?.system.upkeep ?? 'vacuum analyze');
      await asked('checkpoint');
    },
    async load(place, work, { seconds }) {
      const system = opened.get(place)?.system as System;
      await window(
        [{ place, system, works: [{ work, clients: options.clients }] }],
        [seconds, 0],
        nothing,
      );
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
