import type pg from 'pg';
import {
  claim,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  release,
} from '../sql/verbs.ts';

/** A call that takes a position from the sequence. */
export type PositionSource = {
  name: string;
  /** Prepares the call before the sequence is set back. The call gets what this returns. */
  before?: (on: pg.Client) => Promise<string>;
  call: (on: pg.Client, prepared: string) => Promise<unknown>;
};

const claimed = async (on: pg.Client) => {
  await enqueue(on, 'door', numberedTasks(3));
  return leaseOf(await claim(on, 'door', { limit: 3 }));
};

const ready = async (on: pg.Client) => {
  const [id] = await enqueue(on, 'door', numberedTasks(1));
  return id as string;
};

const waiting = async (on: pg.Client) => {
  const [id] = await enqueue(on, 'door', numberedTasks(2, 0, { delay_seconds: 3600 }));
  return id as string;
};

export const positionSources: PositionSource[] = [
  { name: 'a task', call: (on) => enqueue(on, 'door', numberedTasks(2)) },
  {
    name: 'a delayed task',
    call: (on) => enqueue(on, 'door', numberedTasks(2, 0, { delay_seconds: 3600 })),
  },
  { name: "a new queue's first task", call: (on) => enqueue(on, 'other', numberedTasks(2)) },
  {
    name: 'a promotion',
    before: async (on) => {
      await waiting(on);
      await makeDue(on, 'door');
      return '';
    },
    call: promote,
  },
  {
    name: 'a failure, tried again at once',
    before: claimed,
    call: (on, lease) => fail(on, lease, { retry_in_seconds: 0 }),
  },
  { name: 'a failure, tried again later', before: claimed, call: (on, lease) => fail(on, lease) },
  { name: 'a release', before: claimed, call: release },
  {
    name: 'a reaping',
    before: async (on) => {
      await expire(on, await claimed(on));
      return '';
    },
    call: (on) => on.query('select tock.reap(p_sweep => true)'),
  },
  {
    name: 'a change of priority',
    before: ready,
    call: (on, id) => on.query('select tock.reprioritize(array[$1::bigint], 1)', [id]),
  },
  {
    name: 'a change of time',
    before: ready,
    call: (on, id) =>
      on.query("select tock.reschedule(array[$1::bigint], now() + interval '1 hour')", [id]),
  },
  {
    name: 'a waiting task that is to run now',
    before: waiting,
    call: (on, id) => on.query('select tock.reschedule(array[$1::bigint], now())', [id]),
  },
];
