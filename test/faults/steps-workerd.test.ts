import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock } from '../../client/index.ts';
import { bundle } from '../../scripts/bundle.ts';
import { type Database, freshDatabase } from '../database.ts';
import { env } from '../push/receiver.ts';
import { claim, complete, enqueue, leaseOf, row, rows, value } from '../sql/verbs.ts';
import { startTappedProxy, type TappedProxy } from '../worker/proxy.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';
import {
  breakAtEachCall,
  createWatch,
  type MortalWorker,
  openListener,
  type Place,
  type Scenario,
} from './boundaries.ts';
import { API, eventOf } from './steps_flow.ts';
import { createEffects, flowScenario } from './steps_kills.ts';
import { useLink } from './steps_worker.ts';

let db: Database;
let owner: pg.Client;
let proxy: TappedProxy;
let listening: Awaited<ReturnType<typeof openListener>>;
let code: string;
let key: string;
let place: Place;
let served: Served | null = null;
/** It starts while the one before it works. */
let next: Promise<Served>;
const watch = createWatch();

function serve(): Promise<Served> {
  const texts = { LISTENER: listening.listener, TOCK_URL: API };
  return serveBundle(code, { DATABASE_URL: proxy.url, ...texts, ...env });
}

/** Takes the next workerd, unless one runs. */
async function start(): Promise<MortalWorker> {
  if (!served) {
    served = await next;
    next = serve();
  }
  const { url } = served;
  const tock = createTock({ url, key, retries: 0 });
  const untilDead = (call: Promise<unknown>) => call.catch(() => {});
  return {
    work: () => untilDead(fetch(`${url}/scheduled`)),
    async signal(id, link) {
      await untilDead(tock.signal(eventOf(id), { by: 'workerd' }, { request_id: eventOf(id) }));
      await untilDead(useLink(url, link));
    },
    async kill() {
      const living = served;
      served = null;
      await living?.stop();
    },
  };
}

beforeAll(async () => {
  ({ code } = await bundle('test/faults/steps_consumer.ts'));
  db = await freshDatabase();
  owner = await db.connect();
  key = await value<string>(owner, "select key from tock.create_key('k', '{enqueue,claim}')");
  await createEffects(owner);
  proxy = await startTappedProxy(db.edgeUrl);
  watch.through(proxy);
  listening = await openListener(watch);
  const edge = `select from pg_stat_activity
    where datname = current_database() and usename = 'tock_edge'`;
  const isOver = async () => (await owner.query(edge)).rowCount === 0;
  next = serve();
  place = { owner, ...listening, start, replace: start, isOver };
});
afterAll(async () => {
  await served?.stop();
  await (await next).stop();
  proxy.close();
  listening.close();
  await db.drop();
});

test('a Worker that is killed at any call of a consumer runs no step after its checkpoint', async () => {
  const calls = await breakAtEachCall(place, watch, flowScenario(place, true));
  expect(calls).toEqual(
    expect.arrayContaining([
      'claim',
      'save_steps',
      'tock.signal',
      'tock.signal_by_link',
      'create_event_link',
      'public.effects',
    ]),
  );
});

test('a task waits for a signal by a pushed task, whose Worker is killed at any call', async () => {
  let pushes = 0;
  const receiver = createServer(async (request, response) => {
    const stage = watch.call('push');
    const event = `held/${request.headers['webhook-id']}`;
    const { accepted } = await row<{ accepted: boolean }>(
      owner,
      'select * from tock.signal(p_event => $1, p_payload => $2, p_request_id => $1)',
      [event, { push: ++pushes }],
    );
    // A repeated push is the same signal.
    expect(accepted).toBe(true);
    if (stage('inside')) return response.destroy();
    response.end();
    stage('after');
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await owner.query('select tock.put_queue($1, $2)', ['pushed', { push: { url } }]);
  let held = '';
  let first = 0;
  const wait = (lease: string, event: string) =>
    rows(owner, 'select state, result from tock.save_steps($1, $2)', [
      lease,
      JSON.stringify([{ id: held, name: 'approval', event }]),
    ]);
  const scenario: Scenario = {
    async begin() {
      first = pushes + 1;
      [held = ''] = await enqueue(owner, 'held', [{}]);
      const lease = leaseOf(await claim(owner, 'held'));
      const [id = ''] = await enqueue(owner, 'pushed', [{}]);
      expect(await wait(lease, `held/${id}`)).toMatchObject([{ state: 'waiting' }]);
      return id;
    },
    between: async () => {},
    async check(id) {
      const runs = await claim(owner, 'held', { limit: 9 });
      expect(runs).toMatchObject([{ id: held, attempt: 1 }]);
      const lease = leaseOf(runs);
      // The first push counts, whatever its Worker came to know of it.
      const saved = [{ state: 'done', result: { push: first } }];
      expect(await wait(lease, `held/${id}`)).toEqual(saved);
      await complete(owner, lease);
    },
  };
  const calls = await breakAtEachCall(place, watch, scenario);
  expect(calls).toEqual(expect.arrayContaining(['claim', 'push', 'complete']));
  receiver.closeAllConnections();
  receiver.close();
});
