import type { TestCluster } from '../test/cluster.ts';
import { alter, connected, cpuSeconds } from './cluster.ts';
import { attend, type Opened } from './duty.ts';
import { interleave } from './interleave.ts';
import { nodeWork } from './node-work.ts';
import { type Load, pgbench } from './pgbench.ts';
import type { Measured, Place, Run, System, Work } from './types.ts';

export type RunOptions = Pick<
  Run,
  'quick' | 'seconds' | 'warmUp' | 'rounds' | 'clients' | 'wants' | 'systems' | 'floor' | 'say'
>;

/** Whatever went wrong in it is in `failures`. */
export function makeRun(stack: TestCluster, options: RunOptions, failures: string[]): Run {
  const opened = new Map<Place, Opened>();
  let count = 0;

  /** Runs it to its end and says for how many seconds it worked; `start` is awaited right before. */
  async function work(url: string, one: Work, load: Load, start = async () => {}): Promise<number> {
    if (one.by === 'node') {
      return (await nodeWork(url, one, { ...load, onStart: start })).seconds;
    }
    await start();
    return (await pgbench(stack.cluster.host, url, one.script, load)).seconds;
  }

  async function super_(sql: string): Promise<void> {
    const client = await connected(stack.cluster.url());
    await client.query(sql).finally(() => client.end());
  }

  const wal = async ({ client }: Place) => {
    const sql = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes";
    return Number((await client.query(sql)).rows[0].bytes);
  };

  async function measure(
    place: Place,
    system: System,
    works: { work: Work; clients: number }[],
    seconds = options.seconds,
  ): Promise<Measured> {
    // pgbench knows whole seconds only
    const long = works.some(({ work: { by } }) => by === 'pgbench') ? Math.ceil(seconds) : seconds;
    const look = async () => ({
      counts: await system.counts(place),
      wal: await wal(place),
      cpu: await cpuSeconds(stack),
    });
    // all begin together, once those that have to are connected and warm
    const begun = Promise.withResolvers<Awaited<ReturnType<typeof look>>>();
    begun.promise.catch(() => {});
    let waiting = works.length;
    let stop = async () => {};
    const start = async () => {
      if (--waiting === 0) {
        const before = await look();
        stop = attend(opened.get(place));
        begun.resolve(before);
      }
      await begun.promise;
    };
    const each = works.map((one) =>
      work(place.url, one.work, { clients: one.clients, seconds: long }, start),
    );
    for (const one of each) one.catch(begun.reject);
    const ended = await Promise.allSettled(each);
    await stop();
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
    const [before, took] = [await begun.promise, Math.max(...(await Promise.all(each)))];
    const cpu = (await cpuSeconds(stack)) - before.cpu;
    const walBytes = (await wal(place)) - before.wal;
    const after = { counts: await system.counts(place) };
    const enqueued = after.counts.enqueued - before.counts.enqueued;
    const finished = after.counts.finished - before.counts.finished;
    const left = after.counts.enqueued - after.counts.finished;
    const clients = works.reduce((sum, one) => sum + one.clients, 0);
    if (finished > 0 && left < Math.max(clients, finished / 50)) {
      throw new Error(`The window ran dry: ${finished} finished, ${left} left.`);
    }
    if (enqueued + finished === 0) throw new Error('Nothing was done in the window.');
    return { seconds: took, enqueued, finished, walBytes, cpuSeconds: cpu };
  }

  async function open(system: System): Promise<Place> {
    const name = `bench_${++count}`;
    await super_(`create database ${name} owner tock`);
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
    await super_(`drop database ${known.name} with (force)`);
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
    measure,
    async settle(place) {
      await place.client.query(opened.get(place)?.system.upkeep ?? 'analyze');
      await super_('checkpoint');
    },
    async load(place, what, { clients = options.clients, seconds = options.warmUp } = {}) {
      await work(place.url, what, { clients, seconds });
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
