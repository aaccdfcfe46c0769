import { describe, expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { expectInvariants } from '../../invariants.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  promote,
  reap,
} from '../../verbs.ts';
import { claimPayloads, enqueueOne, taskWithKey } from './unique_keys.ts';

databasePerFile();

describe('a payload that is committed after its task has started runs too', () => {
  const ways: [string, object][] = [
    ['with rerun', { on_conflict: 'rerun' }],
    ['with replace', { on_conflict: 'replace' }],
    ['with merge', { on_conflict: 'merge' }],
    ['with debounce', { on_conflict: 'debounce' }],
    ['with throttle', { on_conflict: 'throttle', unique_seconds: 60 }],
  ];
  test.each(ways)('%s', async (name, options) => {
    const queue = name.replaceAll(/[ ,]+/g, '-');
    await enqueueOne(queue, 1, options);
    await promote(client);
    const changing = await begin();
    const newest = await enqueueOne(queue, 2, options, changing);
    const first = await claimPayloads(queue);
    expect(first.map((run) => run.payload)).toEqual([1]);
    await changing.query('commit');
    await complete(client, leaseOf(first));
    await makeDue(client, queue);
    const second = await claimPayloads(queue);
    expect(second).toMatchObject([{ payload: 2, id: newest }]);
    await complete(client, leaseOf(second));
    expect(await claimPayloads(queue)).toEqual([]);
    await expectInvariants(client);
  });

  test('with rerun, when the change commits before the claim that it did not see', async () => {
    const rerun = { on_conflict: 'rerun' };
    await enqueueOne('claimed', 1, rerun);
    await promote(client);
    const worker = await begin();
    const first = await claim(worker, 'claimed');
    expect(first.map((run) => run.payload)).toEqual([1]);
    await enqueueOne('claimed', 2, rerun);
    await worker.query('commit');
    await complete(client, leaseOf(first));
    expect((await claimPayloads('claimed')).map((run) => run.payload)).toEqual([2]);
  });

  test("beside workers: each key's last run has its newest payload", async () => {
    const keys = Array.from({ length: 6 }, (_, n) => `doc ${n}`);
    const newest = new Map<string, number>();
    const ran = new Map<string, number>();
    const record = (runs: { payload: unknown }[]) => {
      for (const { key, n } of runs.map((run) => run.payload as { key: string; n: number }))
        ran.set(key, Math.max(n, ran.get(key) ?? 0));
    };
    let going = true;
    const writer = async (own: string[], on_conflict: string) => {
      const on = await db.connect();
      for (let n = 1; n <= 40; n++) {
        for (const key of own) {
          await on.query('begin');
          await enqueue(on, 'outbox', [taskWithKey({ key, n }, { on_conflict }, key)]);
          await sleep(n % 4);
          await on.query('commit');
          newest.set(key, n);
        }
      }
      await on.end();
    };
    const worker = async () => {
      const on = await db.connect();
      for (;;) {
        const last = !going;
        await promote(on);
        const runs = await claim(on, 'outbox', { limit: 2 });
        if (runs.length === 0 && last) break;
        record(runs);
        if (runs.length > 0) await complete(on, leaseOf(runs));
      }
      await on.end();
    };
    const workers = [worker(), worker(), worker()];
    await Promise.all([
      writer(keys.slice(0, 2), 'rerun'),
      writer(keys.slice(2, 4), 'replace'),
      writer(keys.slice(4), 'debounce'),
    ]);
    going = false;
    await Promise.all(workers);
    await promote(client);
    for (const runs of await drain(client, 'outbox')) record(runs);
    expect(ran).toEqual(newest);
    await expectInvariants(client);
  });
});

describe('a task whose payload changed while it ran', () => {
  const rerun = (at?: string) => ({ on_conflict: 'rerun', ...(at && { changed_at: at }) });
  const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;

  test('runs once more after its end, with the newest payload', async () => {
    await enqueueOne('rerun', 1, rerun(at(1)));
    const first = await claimPayloads('rerun');
    const again = await enqueueOne('rerun', 2, rerun(at(2)));
    expect(await enqueueOne('rerun', 4, rerun(at(4)))).toBe(again);
    expect(await enqueueOne('rerun', 3, rerun(at(3)))).toBe(again);
    expect(await claimPayloads('rerun')).toEqual([]);
    await complete(client, leaseOf(first));
    const second = await claimPayloads('rerun');
    expect(second.map((run) => run.payload)).toEqual([4]);
    await complete(client, leaseOf(second));
    expect(await claimPayloads('rerun')).toEqual([]);
  });

  test('runs beside tasks of a concurrency key with the same name', async () => {
    await enqueue(client, 'named', [
      { payload: 'g', concurrency_key: 'k' },
      taskWithKey('k', rerun()),
    ]);
    const runs = await claimPayloads('named');
    expect(runs.map((run) => run.payload).sort()).toEqual(['g', 'k']);
  });

  test("runs again only after its end, not after a failure or a loss, whatever the queue's limits", async () => {
    await client.query(
      `select tock.put_queue('own-concurrency_key', '{"concurrency_limit": 3, "concurrency_retry": "yield", "concurrency_rate_limit": 1, "concurrency_rate_seconds": 3600}')`,
    );
    await enqueueOne('own-concurrency_key', 1, rerun());
    const first = await claimPayloads('own-concurrency_key');
    await enqueueOne('own-concurrency_key', 2, rerun());
    await fail(client, leaseOf(first), { retry_in_seconds: 0 });
    const second = await claimPayloads('own-concurrency_key');
    expect(second.map((run) => run.payload)).toEqual([1]);
    await expire(client, leaseOf(second));
    await reap(client);
    const third = await claimPayloads('own-concurrency_key');
    expect(third.map((run) => run.payload)).toEqual([1]);
    await complete(client, leaseOf(third));
    expect((await claimPayloads('own-concurrency_key')).map((run) => run.payload)).toEqual([2]);
  });

  test('does not run again for an older payload', async () => {
    const id = await enqueueOne('older', 1, rerun(at(5)));
    await complete(client, leaseOf(await claimPayloads('older')));
    expect(await enqueueOne('older', 0, rerun(at(5)))).toBe(id);
    expect(await enqueueOne('older', 0, rerun(at(4)))).toBe(id);
    expect(await claimPayloads('older')).toEqual([]);
    expect(await enqueueOne('older', 2, rerun(at(6)))).not.toBe(id);
  });
});
