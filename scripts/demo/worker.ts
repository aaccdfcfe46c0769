// A worker process of the demo: claims, works and completes over HTTP, and reports each step as a line of JSON. Usage:
// node worker.ts <queue> <name> <root>, with TOCK_URL and TOCK_KEY
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, writeSync } from 'node:fs';
import { join } from 'node:path';
import { api, expectOk } from './api.ts';

type Claim = {
  lease: string | null;
  tasks: { id: string; payload: { path: string } }[];
  retry_after_seconds: number;
};

const [queue = '', worker = '', root = ''] = process.argv.slice(2);
const call = api(process.env.TOCK_URL ?? '', process.env.TOCK_KEY ?? '');
// The line is written before the next step, because the demo kills the worker after such a line.
const report = (step: object) => writeSync(1, `${JSON.stringify(step)}\n`);

async function work(path: string): Promise<{ sha256: string; lines: number }> {
  const hash = createHash('sha256');
  let lines = 0;
  for await (const chunk of createReadStream(join(root, path)) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    for (const byte of chunk) if (byte === 10) lines++;
  }
  return { sha256: hash.digest('hex'), lines };
}

async function claimAndWork(): Promise<void> {
  const claimOptions = { worker, limit: 20, lease_seconds: 10, request_id: randomUUID() };
  const claim = await expectOk<Claim>(call(`/v1/queues/${queue}/claim`, claimOptions));
  if (claim.tasks.length === 0) {
    const seconds = Math.min(Math.max(claim.retry_after_seconds, 0.2), 2);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    return;
  }
  report({ claimed: claim.tasks.map((task) => task.id) });
  const results = [];
  for (const { id, payload } of claim.tasks) results.push({ id, result: await work(payload.path) });
  const completion = call(`/v1/leases/${claim.lease}/complete`, { results });
  if ((await completion).status === 409) return;
  report({ completed: (await expectOk<{ completed: number }>(completion)).completed });
}

// The demo holds the other end of stdin, so stdin ends with the demo, and then the worker ends too.
process.stdin.on('end', () => process.exit(0)).resume();
process.on('SIGTERM', () => process.exit(0));
// The terminal sends Ctrl-C to all processes. The demo handles it and stops its workers.
process.on('SIGINT', () => {});

try {
  while (true) await claimAndWork();
} catch (error) {
  process.stderr.write(`${worker}: ${(error as Error).message}\n`);
  process.exit(1);
}
