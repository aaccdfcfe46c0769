import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { type Database, freshDatabase } from '../database.ts';
import { claim, complete, enqueue, leaseOf, waitUntil } from '../sql/verbs.ts';

let db: Database;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

/** Starts the CLI as in a terminal. The result has its output so far, and a function that ends it by Ctrl-C. */
function following(args: string[]) {
  const child = spawn(process.execPath, [join(checkout, 'cli', 'main.ts'), ...args], {
    cwd: tmpdir(),
    env: { ...process.env, DATABASE_URL: db.url, TOCK_URL: undefined, TOCK_KEY: undefined },
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  const ended = new Promise<number | null>((done) => child.on('close', done));
  return {
    prints: (words: RegExp) => waitUntil(`"${words}" in ${args}`, async () => words.test(out)),
    async stop() {
      child.kill('SIGINT');
      return { code: await ended, out };
    },
  };
}

test('tail prints each state of a task once', async () => {
  const client = await db.connect();
  const [old] = await enqueue(client, 'mail', [{ payload: 0 }]);
  const tail = following(['tail', 'mail', '--lines', '1', '--every', '1']);
  const watch = following(['status', '--watch', '1']);
  await watch.prints(/mail +1 +0/);
  await tail.prints(new RegExp(`mail  ${old}  ready`));
  const [id] = await enqueue(client, 'mail', [{ payload: 1 }]);
  await tail.prints(new RegExp(`mail  ${id}  ready`));
  await watch.prints(/mail +2 +0/);
  await complete(client, leaseOf(await claim(client, 'mail', { limit: 2, worker: 'ann' })));
  await tail.prints(new RegExp(`mail  ${id}  done  ann`));
  await watch.prints(/mail +0 +0/);
  const { code, out } = await tail.stop();
  expect(code).toBe(0);
  expect(out.split('\n').filter((line) => line.includes(`${id}  ready`))).toHaveLength(1);
  expect(out.split(`${old}  ready`)).toHaveLength(2);
  expect((await watch.stop()).code).toBe(0);
});
