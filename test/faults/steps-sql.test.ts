import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { startTappedProxy, type TappedProxy } from '../worker/proxy.ts';
import { breakAtEachCall, createWatch, openListener, type Place } from './boundaries.ts';
import { childWorker, flowScenario, immortal } from './steps_kills.ts';
import { sqlWorker } from './steps_worker.ts';

let db: Database;
let owner: pg.Client;
let proxy: TappedProxy;
let listening: Awaited<ReturnType<typeof openListener>>;
let place: Place;
const watch = createWatch();

beforeAll(async () => {
  db = await freshDatabase();
  owner = await db.connect();
  await owner.query('create table public.effects (task bigint)');
  proxy = await startTappedProxy(db.url);
  watch.through(proxy);
  listening = await openListener(watch);
  const env = { DATABASE_URL: proxy.url, LISTENER: listening.listener, PGAPPNAME: 'mortal' };
  const mortal = "select from pg_stat_activity where application_name = 'mortal'";
  const rest = immortal(sqlWorker(db.url, listening.listener));
  place = {
    owner,
    ...listening,
    start: async () => childWorker('sql', env),
    replace: async () => rest,
    isOver: async () => (await owner.query(mortal)).rowCount === 0,
  };
});
afterAll(async () => {
  proxy.close();
  listening.close();
  await db.drop();
});

test('in SQL a worker that is killed at any call of a flow runs no step after its checkpoint', async () => {
  const calls = await breakAtEachCall(place, watch, flowScenario(place, true));
  expect(calls).toEqual(
    expect.arrayContaining(['claim', 'save_steps', 'tock.signal', 'commit', 'effect charge']),
  );
});

test('in SQL a worker that stops after any call until its task is done saves nothing afterwards', async () => {
  await breakAtEachCall(place, watch, flowScenario(place, true), true);
});
