import { describe, expect } from 'vitest';
import { type Handler, RetryIn } from '../../../client/index.ts';
import { queue, there, tock } from '../../client/service.ts';
import { value } from '../../sql/verbs.ts';
import { advance, scenario, stepsOf, taskOf, useTock, workers } from './scenario.ts';

useTock();

/** An event of the queue's own. */
const eventOf = (q: string) => `${q}/approved`;

const waits = (q: string) =>
  value<number>(there.owner, 'select count(*)::int from tock.event_waits where event = $1', [
    eventOf(q),
  ]);

describe.each(workers)('with %s', (_, work) => {
  scenario(
    'a task waits for an event without a worker, and goes on with its payload',
    'test_await_and_emit_event_flow, test_await_event_flow, TestQuickstartStyleAwaitEventFlow',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const approved: Handler = (_task, { waitFor }) => waitFor('approval', eventOf(q));
      expect(await work(q, approved)).toMatchObject({ released: 1 });
      expect(await taskOf(id)).toMatchObject({ state: 'waiting' });
      const wait = { name: 'approval', kind: 'event', state: 'waiting', event: eventOf(q) };
      expect(await tock.steps(id)).toMatchObject([wait]);
      expect(await tock.signal(eventOf(q), { by: 'ann' })).toEqual({ accepted: true, woken: 1 });
      expect(await taskOf(id)).toMatchObject({ state: 'ready' });
      await work(q, approved);
      expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 1, result: { by: 'ann' } });
      expect(await stepsOf(id)).toEqual({ approval: ['done', { by: 'ann' }] });
    },
  );

  scenario(
    'an event that came before its task is there for it',
    'test_event_emitted_before_await_is_cached',
    async () => {
      const q = queue();
      await tock.signal(eventOf(q), 'early');
      const id = await tock.enqueue(q, null);
      const counts = await work(q, (_task, { waitFor }) => waitFor('approval', eventOf(q)));
      expect(counts).toMatchObject({ done: 1, released: 0 });
      expect(await taskOf(id)).toMatchObject({ state: 'done', result: 'early' });
    },
  );

  scenario(
    'the first payload of an event counts, and its time stays',
    'test_emit_event_is_first_write_wins',
    async () => {
      const q = queue();
      const stored = async () =>
        (await there.owner.query('select * from tock.events where event = $1', [eventOf(q)])).rows;
      await tock.signal(eventOf(q), 1);
      const first = await stored();
      expect(first).toMatchObject([{ payload: 1 }]);
      expect(await tock.signal(eventOf(q), 2)).toEqual({ accepted: false, woken: 0 });
      expect(await stored()).toEqual(first);
      const id = await tock.enqueue(q, null);
      await work(q, (_task, { waitFor }) => waitFor('approval', eventOf(q)));
      expect(await taskOf(id)).toMatchObject({ result: 1 });
    },
  );

  scenario(
    'a wait whose time is over wakes its task, which gets null',
    'test_await_event_with_timeout_expires_and_wakes_task, test_event_timeout_wakes_sleeping_run',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const approved: Handler = async (_task, { waitFor }) => ({
        approval: await waitFor('approval', eventOf(q), { timeout_seconds: 600 }),
      });
      await work(q, approved);
      const [step] = (await tock.steps(id)) ?? [];
      expect(await taskOf(id)).toMatchObject({ state: 'waiting', run_at: step?.due_at });
      expect(await waits(q)).toBe(1);
      await advance(601);
      await work(q, approved);
      expect(await taskOf(id)).toMatchObject({
        state: 'done',
        attempt: 1,
        result: { approval: null },
      });
      expect(await stepsOf(id)).toEqual({ approval: ['timed_out', null] });
      expect(await waits(q)).toBe(0);
    },
  );

  scenario(
    'a wait that has timed out does not begin anew in the next attempt',
    'test_await_event_timeout_does_not_recreate_wait, test_await_event_timeout_does_not_recreate_wait_on_resume',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const approved: Handler = async ({ attempt }, { waitFor }) => {
        const approval = await waitFor('approval', eventOf(q), { timeout_seconds: 10 });
        if (attempt === 1) throw new RetryIn(0);
        return { approval, attempt };
      };
      await work(q, approved);
      await advance(11);
      expect(await work(q, approved)).toMatchObject({ failed: 1, done: 1, released: 0 });
      expect(await taskOf(id)).toMatchObject({ result: { approval: null, attempt: 2 } });
      expect(await waits(q)).toBe(0);
    },
  );

  scenario(
    'one signal wakes all tasks that wait for its event',
    'test_multiple_tasks_can_await_same_event',
    async () => {
      const q = queue();
      const ids: string[] = [];
      for (const n of [1, 2, 3]) ids.push(await tock.enqueue(q, n));
      const approved: Handler = async ({ payload }, { waitFor }) => [
        payload,
        await waitFor('approval', eventOf(q)),
      ];
      expect(await work(q, approved)).toMatchObject({ released: 3 });
      for (const id of ids) expect(await taskOf(id)).toMatchObject({ state: 'waiting' });
      expect(await tock.signal(eventOf(q), 'all')).toEqual({ accepted: true, woken: 3 });
      expect(await work(q, approved)).toMatchObject({ done: 3 });
      const results = ids.map(async (id) => (await taskOf(id)).result);
      expect(await Promise.all(results)).toEqual([1, 2, 3].map((n) => [n, 'all']));
    },
  );

  scenario(
    'a wait of no time ends at once, and one of a negative time is refused',
    'TestAwaitEventNegativeTimeoutDoesNotSleepForever',
    async () => {
      const q = queue();
      const ids: string[] = [];
      for (const seconds of [0, -1]) ids.push(await tock.enqueue(q, seconds, { max_attempts: 1 }));
      const counts = await work<number>(q, ({ payload }, { waitFor }) =>
        waitFor('approval', eventOf(q), { timeout_seconds: payload }),
      );
      expect(counts).toMatchObject({ done: 1, failed: 1, released: 0 });
      const [none = '', negative = ''] = ids;
      expect(await stepsOf(none)).toEqual({ approval: ['timed_out', null] });
      const message = expect.stringContaining('timeout_seconds');
      expect(await taskOf(negative)).toMatchObject({ state: 'dead', error: { message } });
    },
  );
});
