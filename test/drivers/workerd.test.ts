import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bindings } from '../../functions/env.ts';
import { bundle } from '../../scripts/bundle.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';
import { testDriverBehaviour } from './behaviour.ts';
import { type DriverName, startDriverDatabase } from './drivers.ts';

let code: string;
beforeAll(async () => {
  code = (await bundle()).code;
});

const ways: DriverName[] = ['hyperdrive', 'neon-http', 'neon-ws'];

describe.each(ways)('in workerd, %s', (way) => {
  const served: Served[] = [];
  afterAll(() => Promise.all(served.map((worker) => worker.stop())));

  testDriverBehaviour(async () => {
    const made = await startDriverDatabase();
    const sender = async (bindings: Bindings) => {
      const worker = await serveBundle(code, bindings);
      served.push(worker);
      return (path: string, init: RequestInit) => fetch(`${worker.url}${path}`, init);
    };
    return { setting: made, door: await sender(made.env(way)), lost: await sender(made.lost(way)) };
  });
});

test.each(['neon-http', 'neon-ws'])(
  'in workerd, %s answers each call with a 503 while its proxy is absent',
  async (TOCK_DRIVER) => {
    const DATABASE_URL = 'postgres://tock_edge:secret@ep-tock-1.local.neon.tech/tock';
    const TOCK_NEON_PROXY = 'http://127.0.0.1:1';
    const worker = await serveBundle(code, { DATABASE_URL, TOCK_NEON_PROXY, TOCK_DRIVER });
    const headers = { authorization: 'Bearer tock_1' };
    const ask = async () => (await fetch(`${worker.url}/v1/queues`, { headers })).status;
    try {
      expect([await ask(), await ask()]).toEqual([503, 503]);
      const health = await fetch(`${worker.url}/v1/health`);
      expect(health.status).toBe(503);
    } finally {
      await worker.stop();
    }
  },
);
