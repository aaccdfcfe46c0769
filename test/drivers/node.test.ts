import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { connect } from '../../functions/database/connect.ts';
import type { Connect } from '../../functions/database/types.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { testDriverBehaviour } from './behaviour.ts';
import { type DriverDatabase, driverNames, startDriverDatabase } from './drivers.ts';

vi.spyOn(console, 'error').mockImplementation(() => {});

describe.each(driverNames)('on Node, %s', (way) => {
  const app = createApp(connect);
  testDriverBehaviour(async () => {
    const made = await startDriverDatabase();
    const sender = (env: Bindings) => async (path: string, init: RequestInit) =>
      app.request(path, init, env);
    return { setting: made, door: sender(made.env(way)), lost: sender(made.lost(way)) };
  });
});

describe('one statement', () => {
  let made: DriverDatabase;
  beforeAll(async () => {
    made = await startDriverDatabase();
  });
  afterAll(() => made.drop());

  const texts: string[] = [];
  const counting: Connect = (env, use) =>
    connect(env, (query) =>
      use((text, values) => {
        texts.push(text);
        return query(text, values);
      }),
    );

  test.each(driverNames)('is the only message that a request sends: %s', async (way) => {
    const app = createApp(counting);
    const { bridge, key } = made;
    texts.length = bridge.requests.length = bridge.statements.length = 0;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const send = (path: string) =>
      app.request(path, { method: 'POST', headers, body: '{}' }, made.env(way));
    for (const path of ['/v1/queues/q/tasks', '/v1/queues/q/claim', '/v1/tick']) {
      expect((await send(path)).status).toBeLessThan(300);
    }
    expect(texts).toHaveLength(3);
    expect(bridge.requests.map(({ text }) => text)).toEqual(way === 'neon-http' ? texts : []);
    expect(bridge.statements).toEqual(way === 'neon-ws' ? texts : []);
    await expect.poll(bridge.open).toBe(0);
  });

  test('over Hyperdrive names a volatile function, so that no cache answers it', async () => {
    const rows = await connect(made.env('hyperdrive'), (query) =>
      query('select current_query() as text, $1::text as given', ['x']),
    );
    expect(rows).toEqual([{ text: expect.stringMatching(/^with .*random\(\)/), given: 'x' }]);
  });
});
