import { afterAll, beforeAll, expect, test } from 'vitest';
import { anyPort } from '../../../scripts/stack/ports.ts';
import { healthy, startWorker, type Worker } from '../../../scripts/stack/worker.ts';
import { type Database, freshDatabase } from '../../database.ts';
import { value } from '../../sql/verbs.ts';
import { removeHome, temporaryHome } from '../../stack/start_process.ts';
import { account_id, loadCloudflare, type Messages } from './client.ts';

const home = temporaryHome();
let database: Database;
let worker: Worker;
let messages: Messages;

beforeAll(async () => {
  process.env.TOCK_HOME = home;
  const load = await loadCloudflare();
  database = await freshDatabase();
  const owner = await database.connect();
  const apiToken = await value(
    owner,
    "select key from tock.create_key('w', '{enqueue,claim,read}')",
  );
  const port = await anyPort();
  const url = `http://127.0.0.1:${port}`;
  const vars = { TOCK_COMPAT: 'cloudflare' };
  worker = startWorker(port, database.poolUrl ?? database.edgeUrl, { vars });
  await healthy(url, worker, new AbortController().signal);
  const { Cloudflare } = load('cloudflare');
  messages = new Cloudflare({ apiToken, baseURL: `${url}/client/v4` }).queues.messages;
});

afterAll(async () => {
  await worker?.stop();
  await database?.drop();
  removeHome(home);
});

test('messages go through workerd and PgBouncer, and so does a refusal', async () => {
  const body = '😀'.repeat(10_000);
  await messages.push('w', { account_id, body, content_type: 'text' });
  const pulled = await messages.pull('w', { account_id });
  expect(pulled).toMatchObject({ message_backlog_count: 1, messages: [{ body, attempts: 1 }] });
  const [{ lease_id }] = pulled.messages;
  const acks = [{ lease_id }];
  expect(await messages.ack('w', { account_id, acks })).toMatchObject({ ackCount: 1 });
  const refused = messages.pull('w', { account_id, batch_size: 0 });
  await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ code: 10207 }] });
});
