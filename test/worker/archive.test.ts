import { afterAll, beforeAll, expect, test } from 'vitest';
import { anyPort } from '../../scripts/stack/ports.ts';
import { healthy, startWorker, type Worker } from '../../scripts/stack/worker.ts';
import { allTasks, passAllRetentions, secret, taskText, twoDays } from '../archive/two_days.ts';
import { type Database, freshDatabase } from '../database.ts';
import {
  ageClosedSegments,
  dropExpiredSegments,
  segmentNumbers,
} from '../sql/kernel/segment/segments.ts';
import { value } from '../sql/verbs.ts';
import { removeHome, temporaryHome } from '../stack/start_process.ts';

const home = temporaryHome();
let database: Database;
let worker: Worker;
let url: string;
let key: string;

beforeAll(async () => {
  process.env.TOCK_HOME = home;
  database = await freshDatabase();
  const owner = await database.connect();
  key = await value(owner, "select key from tock.create_key('w', '{read,admin}')");
  const port = await anyPort();
  url = `http://127.0.0.1:${port}`;
  worker = startWorker(port, database.poolUrl ?? database.edgeUrl);
  await healthy(url, worker, new AbortController().signal);
});

afterAll(async () => {
  await worker?.stop();
  await database?.drop();
  removeHome(home);
});

async function send(route: string, body?: object) {
  const [method = 'GET', path = ''] = route.split(' ');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = { method, headers, body: body ? JSON.stringify(body) : null };
  const answer = await fetch(`${url}${path}`, init);
  return { status: answer.status, text: await answer.text() };
}

async function archive(): Promise<void> {
  for (let more = true; more; ) {
    const { status, text } = await send('POST /v1/archive/step', { rows: 25 });
    expect(status, text).toBe(200);
    more = JSON.parse(text).more;
  }
}

test("the archive in workerd's R2 returns tasks unchanged", async () => {
  const owner = await database.connect();
  const ids = await twoDays(owner);
  const before = new Map<string, string>();
  for (const id of allTasks(ids)) before.set(id, await taskText(send, id));
  await passAllRetentions(owner);
  expect(await send('PUT /v1/archive', { enabled: true })).toMatchObject({ status: 200 });
  // The Worker's alarm archives too, so it may have a part or a lock for a while.
  const dropped = async () => {
    await archive();
    await ageClosedSegments(owner, '60 days');
    await dropExpiredSegments(owner);
    return segmentNumbers(owner);
  };
  await expect.poll(dropped).not.toContain(2);
  for (const [id, text] of before) expect(await taskText(send, id)).toBe(text);
  const page = await send('GET /v1/archive/tasks?queue=many&limit=1000');
  expect(JSON.parse(page.text).tasks).toHaveLength(50);
  expect((await send(`DELETE /v1/tasks/${ids.done}/payload`)).status).toBe(200);
  const archived = async () => {
    await archive();
    return JSON.parse((await send('GET /v1/archive')).text);
  };
  const nothing = { erasures_pending: 0, objects_unwanted: 0, failures: 0 };
  await expect.poll(archived).toMatchObject(nothing);
  expect((await send(`GET /v1/tasks/${ids.done}`)).text).not.toContain(secret);
});
