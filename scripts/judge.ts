import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { ReadableStream } from 'node:stream/web';
import { type Bindings, createWorker } from '../functions/worker.ts';
import { devKey } from './stack/key.ts';
import { ended } from './stack/run.ts';
import { aloud } from './stack/step_reporter.ts';
import { prepare, testCluster } from './stack/test_cluster.ts';

// Runs another project's own tests against a new Tock. They are not part of the repository: give a checkout of it.

const usage = `Usage: npm run judge -- qstash <folder> [test files]
  <folder>   a checkout of github.com/upstash/qstash-js with its packages and bun installed
Default of the files: those that need a server, and src/receiver.test.ts.`;

type Judge = {
  program: string;
  args: string[];
  /** The test files, if none are named. */
  files: string[];
  /** The variables with which its client finds Tock. */
  env(url: string, key: string): Record<string, string>;
};

const judges: Record<string, Judge> = {
  qstash: {
    program: 'bun',
    args: ['test', '--timeout', '40000'],
    files: [
      ...[
        'client',
        'schedules',
        'messages',
        'dlq',
        'logs',
        'queue',
        'url-groups',
        'flow-control',
      ].map((name) => `src/client/${name}.test.ts`),
      'src/receiver.test.ts',
    ],
    env: (url, key) => ({ QSTASH_URL: url, QSTASH_TOKEN: key }),
  },
};

/** Serves a Worker as Cloudflare does, with a cron trigger each second. */
async function serve(env: Bindings): Promise<{ url: string; close(): Promise<void> }> {
  const worker = createWorker();
  const log = (error: unknown) => console.error(error);
  /** What goes on after its response. */
  const after = new Set<Promise<unknown>>();
  const execution = {
    waitUntil(promise: Promise<unknown>) {
      const work = promise.catch(log).finally(() => after.delete(work));
      after.add(work);
    },
    passThroughOnException() {},
  };
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET' } = incoming;
    const body = method === 'GET' ? null : (ReadableStream.from(incoming) as BodyInit);
    const init = { method, headers: incoming.headers, body, duplex: 'half' } as RequestInit;
    const response = await worker.fetch(new Request(`${url}${incoming.url}`, init), env, execution);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let open = true;
  let running: Promise<void> = Promise.resolve();
  const tick = () => {
    if (!open) return;
    running = worker.scheduled({}, env).catch(log);
    void running.then(() => setTimeout(tick, 1000));
  };
  tick();
  return {
    url,
    async close() {
      open = false;
      server.close();
      server.closeAllConnections();
      await running;
      while (after.size > 0) await Promise.all(after);
    },
  };
}

async function judge(name: string, folder: string, files: string[]): Promise<number> {
  const { program, args, env, ...byDefault } = judges[name] as Judge;
  const own = join(folder, 'node_modules', '.bin', program);
  const { cluster, passwords, close } = await testCluster('judge', aloud);
  const as = (role: string, password: string) => {
    const url = new URL(cluster.url('judge'));
    return Object.assign(url, { username: role, password }).href;
  };
  try {
    const owner = as('tock', passwords.owner);
    await prepare(owner, passwords.edge);
    const served = await serve({
      DATABASE_URL: as('tock_edge', passwords.edge),
      TOCK_DRIVER: 'pg',
      TOCK_COMPAT: name,
      TOCK_PUSH_SECRET: randomBytes(32).toString('base64'),
    });
    const variables = env(served.url, await devKey(owner));
    const chosen = files.length > 0 ? files : byDefault.files;
    const child = spawn(existsSync(own) ? own : program, [...args, ...chosen], {
      cwd: folder,
      env: { ...process.env, ...variables },
      stdio: 'inherit',
    });
    await ended(child);
    await served.close();
    return child.exitCode ?? 1;
  } finally {
    await close();
  }
}

const [name = '', folder, ...files] = process.argv.slice(2);
if (!Object.hasOwn(judges, name) || !folder || !existsSync(folder)) {
  process.stdout.write(`${usage}\n`);
  process.exit(2);
}
process.exit(await judge(name, resolve(folder), files));
