import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { type Judge, judges } from './judge/judges.ts';
import { serve } from './judge/serve.ts';
import { devKey } from './stack/key.ts';
import { ended } from './stack/run.ts';
import { aloud } from './stack/step_reporter.ts';
import { prepare, testCluster } from './stack/test_cluster.ts';

// Runs another project's own tests against a new Tock. They are not part of the repository: give a checkout of it.

const usage = `Usage: npm run judge -- JUDGE FOLDER [TESTS]
JUDGE and FOLDER are one of:
${Object.entries(judges)
  .map(([name, { folder }]) => `  ${name.padEnd(13)} ${folder}`)
  .join('\n')}`;

/** Python packages that are unpacked in the folder, as pip or as Debian does it. */
const pythonPath = (folder: string) =>
  [folder, join(folder, 'usr/lib/python3/dist-packages'), process.env.PYTHONPATH ?? ''].join(
    delimiter,
  );

async function putQueue(url: string, key: string, queue: string): Promise<void> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const answer = await fetch(`${url}/v1/queues/${queue}`, { method: 'PUT', headers, body: '{}' });
  if (!answer.ok) throw new Error(await answer.text());
}

async function judge(
  { adapter, program, args, port = 0, queue, env, addKey, ...byDefault }: Judge,
  folder: string,
  tests: string[],
): Promise<number> {
  const own = join(folder, 'node_modules', '.bin', program);
  const { cluster, passwords, pool, close } = await testCluster('judge', aloud);
  const as = (username: string, password: string, more: { port?: string } = {}) =>
    Object.assign(new URL(cluster.url('judge')), { username, password, ...more }).href;
  try {
    const owner = as('tock', passwords.owner);
    await prepare(owner, passwords.edge);
    const key = await devKey(owner);
    const pooler = await pool();
    const bindings = {
      DATABASE_URL: as('tock_edge', passwords.edge, { port: `${pooler.port}` }),
      TOCK_DRIVER: 'pg',
      TOCK_COMPAT: adapter,
      TOCK_PUSH_SECRET: randomBytes(32).toString('base64'),
    };
    const served = await serve(bindings, port, (headers) => addKey?.(headers, key));
    if (queue) await putQueue(served.url, key, queue);
    const child = spawn(
      existsSync(own) ? own : program,
      [...args, ...(tests.length ? tests : byDefault.tests)],
      {
        cwd: folder,
        env: { ...process.env, PYTHONPATH: pythonPath(folder), ...env(new URL(served.url), key) },
        stdio: 'inherit',
      },
    );
    await ended(child);
    await served.close();
    return child.exitCode ?? 1;
  } finally {
    await close();
  }
}

const [name = '', folder, ...tests] = process.argv.slice(2);
const chosen = Object.hasOwn(judges, name) ? judges[name] : undefined;
if (!chosen || !folder || !existsSync(folder)) {
  process.stdout.write(`${usage}\n`);
  process.exit(2);
}
process.exit(await judge(chosen, resolve(folder), tests));
