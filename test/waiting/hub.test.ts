import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LocalHub } from '../../functions/waiting/hub.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

/** A hub, and calls that wait in it for up to a second. `woken` has the numbers of those that a change has ended. */
async function hubWith(names: string[][]) {
  const hub = new LocalHub();
  const { version } = await hub.next([], null, 0, never);
  const woken: number[] = [];
  const ended: number[] = [];
  const clients = names.map(() => new AbortController());
  for (const [n, own] of names.entries()) {
    const { signal } = clients[n] as AbortController;
    void hub.next(own, version, 1000, signal).then(({ changed }) => {
      ended.push(n);
      if (changed) woken.push(n);
    });
  }
  const settle = () => vi.advanceTimersByTimeAsync(0);
  await settle();
  return { hub, version, woken, ended, clients, settle };
}

test('a change of a name wakes the call that has waited longest for it, and no other', async () => {
  const { hub, woken, settle } = await hubWith([['a'], ['b'], ['b', 'a'], ['b']]);
  hub.announce(['b']);
  await settle();
  expect(woken).toEqual([1]);
  hub.announce(['a']);
  hub.announce(['a']);
  await settle();
  expect(woken).toEqual([1, 0, 2]);
  hub.announce(['c']);
  await vi.advanceTimersByTimeAsync(1000);
  // Another call was woken for the change of the last one.
  expect(woken).toEqual([1, 0, 2]);
  expect(hub.isWaitedFor).toBe(true);
  await vi.advanceTimersByTimeAsync(2000);
  expect(hub.isWaitedFor).toBe(false);
});

test('a call that finds something passes the change on to two others', async () => {
  const { hub, woken, settle } = await hubWith([['a'], ['a'], ['a'], ['a']]);
  hub.announce(['a']);
  hub.passOn(['a']);
  await settle();
  expect(woken).toEqual([0, 1, 2]);
});

test('a change that is passed on while nobody waits is for the next call that comes', async () => {
  const { hub, version, settle } = await hubWith([['a']]);
  hub.announce(['a']);
  await settle();
  hub.passOn(['a']);
  expect((await hub.next(['a'], version, 1000, never)).changed).toBe(true);
  expect((await hub.next(['a'], version, 0, never)).changed).toBe(false);
});

test('a call whose client has left takes no change from the next one', async () => {
  const { hub, version, clients, settle } = await hubWith([['b']]);
  hub.announce(['a']);
  const gone = AbortSignal.abort();
  expect((await hub.next(['a'], version, 1000, gone)).changed).toBe(false);
  clients[0]?.abort();
  await settle();
  expect((await hub.next(['a'], version, 1000, never)).changed).toBe(true);
});

test('a change that woke nobody ends the next wait, and only that one', async () => {
  const { hub, version } = await hubWith([]);
  hub.announce(null);
  expect((await hub.next(['a'], version, 1000, never)).changed).toBe(true);
  const later = hub.next(['a'], version, 1000, never);
  expect((await hub.next(['b'], version, 1000, never)).changed).toBe(true);
  await vi.advanceTimersByTimeAsync(1000);
  expect((await later).changed).toBe(false);
});

test('a change between two waits is not missed, nor one of another hub', async () => {
  const { hub, version } = await hubWith([]);
  hub.announce(['a']);
  expect(await hub.next(['b'], version, 0, never)).toMatchObject({ changed: false });
  const missed = await hub.next(['a'], version, 1000, never);
  expect(missed.changed).toBe(true);
  expect((await hub.next(['a'], missed.version, 0, never)).changed).toBe(false);
  expect((await new LocalHub().next(['a'], missed.version, 1000, never)).changed).toBe(true);
});

test('a change of anything wakes one call of each name, many within 20 ms twice', async () => {
  const names = [['a'], ['a'], ['a'], ['b'], ['task/1']];
  const { hub, woken, settle } = await hubWith(names);
  for (let n = 0; n < 50; n++) hub.announce(null);
  await settle();
  expect(woken.sort()).toEqual([0, 3, 4]);
  await vi.advanceTimersByTimeAsync(20);
  expect(woken.sort()).toEqual([0, 1, 3, 4]);
});

test('a call whose client has left is not woken in place of another', async () => {
  const { hub, woken, ended, clients, settle } = await hubWith([['a'], ['a']]);
  clients[0]?.abort();
  hub.announce(['a']);
  await settle();
  expect([ended, woken]).toEqual([[0, 1], [1]]);
});

test('of very many names single ones are forgotten, and then everything counts as changed', async () => {
  const { hub, version } = await hubWith([]);
  for (let n = 0; n < 10_001; n++) hub.announce([`queue/${n}`]);
  expect((await hub.next(['another'], version, 1000, never)).changed).toBe(true);
});
