import { openStack } from '../soak/stack.ts';
import { devKey } from '../stack/key.ts';
import { anyPort } from '../stack/ports.ts';
import { healthy, startWorker } from '../stack/worker.ts';
import { links, type Way } from './plan.ts';
import { openProxy, type Tearer } from './proxy.ts';

/** The whole of `npm start`, with a proxy between each pair: client, workerd, PgBouncer, PostgreSQL. */
export async function openTortured(seed: number, stopping: AbortSignal) {
  const proxies: Tearer[] = [];
  const base = await openStack(async (port) => {
    const proxy = await openProxy(port, seed * 3);
    proxies.push(proxy);
    return proxy.port;
  });
  const toPooler = await openProxy(base.poolerPort, seed * 5);
  const workerPort = await anyPort();
  const toWorker = await openProxy(workerPort, seed * 7);
  proxies.unshift(toWorker, toPooler);

  const on = await base.connect(base.superUrl);
  // So that there is somebody of these to kill.
  await on.query("alter system set autovacuum_naptime = '1s'");
  await on.query('select pg_reload_conf()');
  await on.end();

  const edge = new URL(base.pooledUrl);
  edge.port = String(toPooler.port);
  const start = async () => {
    const started = startWorker(workerPort, edge.href, { name: `torture-${process.pid}` });
    await healthy(`http://127.0.0.1:${workerPort}`, started, stopping);
    return started;
  };
  let worker = await start();
  let restarted: Promise<void> = Promise.resolve();
  const key = await devKey(base.ownerUrl);

  return {
    ...base,
    key,
    /** For clients, through the first proxy. */
    url: `http://127.0.0.1:${toWorker.port}`,
    tear(link: (typeof links)[number], way: Way | null): void {
      proxies[links.indexOf(link)]?.tear(way);
    },
    /** How many answers and connections were spoilt there. */
    spoilt: (link: (typeof links)[number]) => proxies[links.indexOf(link)]?.spoilt() ?? 0,
    /** kill -9 of wrangler and workerd, which are one group; resolves once a new one answers. One after another. */
    restartWorkerd(): Promise<void> {
      const next = restarted.then(async () => {
        process.kill(-worker.pid, 'SIGKILL');
        await worker.ended;
        worker = await start();
      });
      restarted = next.catch(() => {});
      return next;
    },
    async close(): Promise<void> {
      await worker.stop();
      for (const proxy of proxies) proxy.close();
      await base.close();
    },
  };
}

export type Tortured = Awaited<ReturnType<typeof openTortured>>;
