import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anyPort } from '../../scripts/stack/ports.ts';
import { ended } from '../../scripts/stack/run.ts';
import { sleep } from '../sleep.ts';

const workerd: string = createRequire(import.meta.url)('workerd').default;

const text = (value: string) => JSON.stringify(value);

function hyperdrive(url: string): { binding: string; service: string } {
  const { host, username, password, pathname } = new URL(url);
  const login = `database = ${text(pathname.slice(1))}, user = ${text(username)}, password = ${text(password)}`;
  return {
    binding: `(name = "HYPERDRIVE", hyperdrive = (designator = "database", ${login}, scheme = "postgresql"))`,
    service: `(name = "database", external = (address = ${text(host)}, tcp = ())),`,
  };
}

/** The bindings of a Worker: texts, and a database. */
type Bindings = Record<string, unknown> & { HYPERDRIVE?: { connectionString: string } };

/** workerd's configuration of the Durable Object `Alarm`, with its storage in a folder. */
const alarm = (folder: string) => ({
  service: `(name = "disk", disk = (path = ${text(folder)}, writable = true)),`,
  binding: '(name = "ALARM", durableObjectNamespace = "Alarm")',
  namespace: `
  durableObjectNamespaces = [(className = "Alarm", uniqueKey = "tock-alarm", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),`,
});

function config(port: number, { HYPERDRIVE, ...texts }: Bindings, storage?: string): string {
  const pool = HYPERDRIVE && hyperdrive(HYPERDRIVE.connectionString);
  const bindings = Object.entries(texts).map(
    ([name, value]) => `(name = "${name}", text = ${text(String(value))})`,
  );
  const object = storage && alarm(storage);
  if (object) bindings.push(object.binding);
  if (pool) bindings.push(pool.binding);
  return `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "tock", worker = .tock),
    ${pool?.service ?? ''}
    ${object ? object.service : ''}
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "tock")],
);
const tock :Workerd.Worker = (
  modules = [(name = "index.js", esModule = embed "index.js")],
  compatibilityDate = "2026-10-23",
  compatibilityFlags = ["enable_request_signal", "global_fetch_strictly_public"],
  bindings = [${bindings.join(', ')}],${object ? object.namespace : ''}
);`;
}

export type Served = { url: string; port: number; stop(): Promise<void> };

/** Runs a deployable bundle in workerd itself, without the proxy of `wrangler dev`. Resolves when it answers. */
export async function serveBundle(
  code: string,
  bindings: Bindings,
  storage?: string,
): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'tock-workerd-'));
  const port = await anyPort();
  writeFileSync(join(folder, 'index.js'), code);
  writeFileSync(join(folder, 'config.capnp'), config(port, bindings, storage), { mode: 0o600 });
  const child = spawn(workerd, ['serve', join(folder, 'config.capnp')], { stdio: 'inherit' });
  const over = ended(child);
  const url = `http://127.0.0.1:${port}`;
  while (child.exitCode === null && !(await fetch(`${url}/openapi.json`).catch(() => null)))
    await sleep(20);
  return {
    url,
    port,
    async stop() {
      child.kill('SIGKILL');
      await over;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
