import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServedApp, serveApp } from '../cli/served.ts';
import { type Database, freshDatabase } from '../database.ts';
import { value } from '../sql/verbs.ts';
import { startTappedProxy, type TappedProxy } from '../worker/proxy.ts';
import { breakAtEachCall, createWatch, openListener, type Place } from './boundaries.ts';
import { childWorkers, createEffects, flowScenario, immortal } from './steps_kills.ts';
import { httpWorker } from './steps_worker.ts';

let db: Database;
let owner: pg.Client;
let served: ServedApp;
let proxy: TappedProxy;
let listening: Awaited<ReturnType<typeof openListener>>;
let place: Place;
let workers: ReturnType<typeof childWorkers>;
const watch = createWatch();

beforeAll(async () => {
  db = await freshDatabase();
  owner = await db.connect();
  await createEffects(owner);
  served = await serveApp(db);
  proxy = await startTappedProxy(served.url);
  watch.through(proxy);
  listening = await openListener(watch);
  const key = await value<string>(owner, "select key from tock.create_key('k', '{enqueue,claim}')");
  const env = { TOCK_URL: proxy.url, TOCK_KEY: key, LISTENER: listening.listener };
  const rest = immortal(httpWorker(served.url, key, listening.listener));
  workers = childWorkers('http', env);
  place = {
    owner,
    ...listening,
    start: workers.start,
    replace: async () => rest,
    isOver: async () => served.busy() === 0,
  };
});
afterAll(async () => {
  await workers.end();
  proxy.close();
  served.hangUp();
  served.close();
  listening.close();
  await db.drop();
});

test('over HTTP a worker that is killed at any call of a flow runs no step after its checkpoint', async () => {
  const calls = await breakAtEachCall(place, watch, flowScenario(place, false));
  expect(calls).toEqual(
    expect.arrayContaining([
      '/v1/queues/flow/claim',
      '/v1/event-links',
      '/v1/events',
      'effect charge',
    ]),
  );
});

test('over HTTP a worker that stops after any call until its task is done saves nothing afterwards', async () => {
  await breakAtEachCall(place, watch, flowScenario(place, false), ['before']);
});
