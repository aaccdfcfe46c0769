import { test } from 'vitest';
import { defineConsumer } from '../../functions/consumers/define.ts';
import { drain } from '../../functions/consumers/drain.ts';
import { connect } from '../../functions/database/connect.ts';
import { createApp } from '../../functions/http/app.ts';
import { driverNames, made, useDriverDatabase } from '../drivers/drivers.ts';
import { conditionTimeout } from '../timeout.ts';

useDriverDatabase();

const odd = `-- Whatever can be a parameter; it fails where one is another.
  select 1 / (($1::integer[] = '{1,2}' and $2::jsonb = '{"a": ["$9"]}' and $3::bytea = '\\x0100' and $5::text is null
    and $4::timestamptz = '2026-01-01Z' and $6::bigint = 9007199254740993)::integer);`;
const values = [
  [1, 2],
  { a: ['$9'] },
  Buffer.from([1, 0]),
  new Date('2026-01-01Z'),
  undefined,
  9007199254740993n,
];

test.concurrent.for(driverNames)(
  'consumers work with the driver %s',
  async (way, { expect: expected }) => {
    const app = createApp(connect);
    const env = made.env(way);
    const call = async (path: string, body: unknown) => {
      const headers = { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      return (await app.request(path, init, env)).json();
    };
    const tasks = [1, 2, 3].map((payload) => ({ payload }));
    const { ids } = await call(`/v1/queues/${way}/tasks`, { tasks });
    const consumer = defineConsumer<number>({
      queue: way,
      concurrency: 2,
      async handler({ payload }, { progress, fail, retryIn, completeWith }) {
        progress(10);
        if (payload === 1) return completeWith(odd, values, 'effect');
        if (payload === 2) fail.fatal('no');
        if (payload === 3) retryIn(60);
        return payload;
      },
    });
    const drained = await drain(connect, env, [consumer], { on_error: () => {} });
    expected(drained).toMatchObject({ done: 1, failed: 2, released: 0, lost: 0 });
    const headers = { authorization: `Bearer ${made.key}` };
    const done = await app.request(`/v1/tasks/${ids[0]}`, { headers }, env);
    expected(await done.json()).toMatchObject({ state: 'done', result: 'effect' });
    const hanging = defineConsumer({ queue: `${way}-held`, handler: () => new Promise(() => {}) });
    // On a busy machine a drain of 3 s may end before it has claimed, or before its report arrives.
    const drainHanging = async () => {
      await call(`/v1/queues/${way}-held/tasks`, { payload: 1 });
      return (await drain(connect, env, [hanging], { seconds: 3, on_error: () => {} })).released;
    };
    await expected.poll(drainHanging, { timeout: conditionTimeout }).toBeGreaterThan(0);
    // The statement of this route begins with `with`, like those of the drain.
    const again = await call('/v1/tasks/rerun', { ids });
    expected(again.tasks.map((task: { id: string }) => task.id).sort()).toEqual(ids.sort());
  },
);
