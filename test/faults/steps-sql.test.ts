import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { startTappedProxy, type TappedProxy } from '../worker/proxy.ts';
import { breakAtEachCall, createWatch, openListener, type Place } from './boundaries.ts';
import { childWorkers, createEffects, flowScenario, immortal } from './steps_kills.ts';
import { sqlWorker } from './steps_worker.ts';

let db: Database;
let owner: pg.Client;
let proxy: TappedProxy;
let listening: Awaited<ReturnType<typeof openListener>>;
let place: Place;
let workers: ReturnType<typeof childWorkers>;
const watch = createWatch();

beforeAll(async () => {
  db = await freshDatabase();
  owner = await db.connect();
  await createEffects(owner);
  proxy = await startTappedProxy(db.url);
  watch.through(proxy);
  listening = await openListener(watch);
  const env = { DATABASE_URL: proxy.url, LISTENER: listening.listener, PGAPPNAME: 'mortal' };
  const mortal = "select from pg_stat_activity where application_name = 'mortal'";
  const rest = immortal(sqlWorker(db.url, listening.listener));
  workers = childWorkers('sql', env);
  place = {
    owner,
    ...listening,
    start: workers.start,
    replace: async () => rest,
    isOver: async () => (await owner.query(mortal)).rowCount === 0,
  };
});
afterAll(async () => {
  await workers.end();
  proxy.close();
  listening.close();
  await db.drop();
});

test('in SQL a worker that is killed at any call of a flow runs no step after its checkpoint', async () => {
  const calls = await breakAtEachCall(place, watch, flowScenario(place, true));
  expect(calls).toEqual(
    expect.arrayContaining([
      'claim',
      'save_steps',
      'public.effects',
      'commit',
      'create_event_link',
      'tock.signal',
      'tock.signal_by_link',
      'effect charge',
    ]),
  );
});

test('in SQL a worker that stops after any call until its task is done saves nothing afterwards', async () => {
  await breakAtEachCall(place, watch, flowScenario(place, true), ['before']);
});
