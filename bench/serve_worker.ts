import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { checkout } from '../scripts/stack/paths.ts';
import { childrenOf } from '../scripts/stack/processes.ts';
import { enableEdgeLogin } from '../scripts/stack/roles.ts';
import { run } from '../scripts/stack/run.ts';
import { serveBundle } from '../test/worker/workerd.ts';
import type { Run, TestDatabase } from './types.ts';

export type Served = {
  url: string;
  /** A key with every scope. */
  key: string;
  /** The process id of workerd. */
  pid: number;
  stop(): Promise<void>;
};

/** Bundles a Worker as `wrangler deploy` does. */
async function bundled(entry: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tock-bench-'));
  try {
    const wrangler = join(checkout, 'node_modules', '.bin', 'wrangler');
    const argv = [process.execPath, wrangler, 'deploy', entry, '--dry-run'];
    await run([...argv, '--outdir', folder], {
      cwd: checkout,
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', XDG_CONFIG_HOME: folder },
    });
    return readFileSync(join(folder, basename(entry).replace(/ts$/, 'js')), 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function workerd(code: string, bindings: Record<string, string>, storage?: string) {
  const before = new Set(childrenOf(process.pid).map(({ pid }) => pid));
  const served = await serveBundle(code, bindings, storage);
  const started = childrenOf(process.pid).find(
    ({ pid }) =>
      !before.has(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('workerd'),
  );
  if (!started) throw new Error('workerd did not start.');
  return { ...served, pid: started.pid };
}

async function answers(url: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const response = await fetch(`${url}/v1/health`).catch(() => null);
    if (response?.ok) return;
    if (performance.now() > deadline) {
      throw new Error(`workerd does not serve: ${await response?.text()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * The Worker in workerd, over the cluster's PgBouncer in transaction mode, with Tock's database. With a folder for the
 * storage of Durable Objects it has the alarm.
 */
export async function serve(
  { stack }: Run,
  database: TestDatabase,
  entry = 'bench/worker.ts',
  bindings: Record<string, string> = {},
  storage?: string,
): Promise<Served> {
  const { passwords } = stack;
  await enableEdgeLogin(database.url, passwords.edge);
  const pooler = await stack.pool();
  try {
    const { port } = pooler;
    const edge = { port: String(port), username: 'tock_edge', password: passwords.edge };
    const url = Object.assign(new URL(database.url), edge).href;
    const own = { ...bindings, DATABASE_URL: url };
    const worker = await workerd(await bundled(entry), own, storage);
    const stop = async () => {
      await worker.stop();
      await pooler.stop();
    };
    try {
      await answers(worker.url);
      const { rows } = await database.client.query(
        "select key from tock.create_key('bench', array['enqueue', 'claim', 'read', 'admin'])",
      );
      return { url: worker.url, key: rows[0].key, pid: worker.pid, stop };
    } catch (error) {
      await worker.stop();
      throw error;
    }
  } catch (error) {
    await pooler.stop();
    throw error;
  }
}
