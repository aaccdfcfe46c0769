import { expect } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  startNextSegment,
  verifySegments,
} from '../../kernel/segment/segments.ts';
import { client } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  promote,
  type Run,
  rows,
  task,
  value,
} from '../../verbs.ts';

/** The payload of a task's next run after its children have ended. */
export type ResumedPayload = {
  payload: unknown;
  result: unknown;
  children: Record<string, unknown>[];
};

let queues = 0;

/** A queue name that no other test of the file uses. */
export const newQueue = () => `q${++queues}`;

export const stateOf = async (id: string) => (await task(client, id))?.state;

export const statesOf = (ids: string[]) => Promise.all(ids.map(stateOf));

export const change = (id: string, changes: object) =>
  client.query('select * from tock.change(array[$1::bigint], $2)', [id, JSON.stringify(changes)]);

export const cancel = (id: string) =>
  client.query('select * from tock.cancel(array[$1::bigint])', [id]);

/** Makes calls that must not wait for a lock of another session. */
export async function withoutWaiting(calls: () => Promise<unknown>): Promise<void> {
  await client.query(`set statement_timeout = ${conditionTimeout}`);
  try {
    await calls();
  } finally {
    await client.query('reset statement_timeout');
  }
}

/** The SQLSTATE with which a call fails, or null. */
export const codeOf = (call: Promise<unknown>): Promise<string | null> =>
  call.then(
    () => null,
    (error) => error.code,
  );

/** Drops the segments that have ended, with the history of their tasks. */
export async function dropHistory(): Promise<void> {
  await startNextSegment(client);
  await closeSegments(client);
  await verifySegments(client);
  await ageClosedSegments(client, '1 year');
  await dropExpiredSegments(client);
}

export const rerun = (id: string) =>
  value<string>(client, 'select rerun_id from tock.rerun(array[$1::bigint])', [id]);

/** Claims up to a hundred ready runs, and completes each with this result. */
export async function completeAll(queue: string, result: unknown = null): Promise<Run[]> {
  const runs = await claim(client, queue, { limit: 100 });
  const results = runs.map((run) => ({ id: run.id, result }));
  if (runs.length > 0) await complete(client, leaseOf(runs), results);
  return runs;
}

/** A task whose completion spawned children for which it waits, with the completing call. */
export async function spawnAndWait(
  queue: string,
  spawn: object,
  options: object = {},
  result: unknown = 'r',
) {
  const [id = ''] = await enqueue(client, queue, [{ payload: 'p', ...options }]);
  await promote(client);
  const lease = leaseOf(await claim(client, queue));
  const results = [{ id, result, spawn: { wait: true, ...spawn } }];
  expect(await complete(client, lease, results)).toEqual({ completed: 1, refused: [] });
  return { id, lease, results };
}

/** Completes the one ready run of a queue, so that its task waits for one child in another queue. */
export async function waitAgain(queue: string, children: string, result: unknown = 'again') {
  const [run] = await claim(client, queue);
  const spawn = { queue: children, tasks: [{}], wait: true };
  await complete(client, run?.lease as string, [{ id: run?.id, result, spawn }]);
  return run;
}

/** Claims the one ready run, and returns its payload. */
export const payloadOf = async (queue: string) =>
  (await claim(client, queue))[0]?.payload as ResumedPayload;

/** Makes the checks of all waiting tasks due, and promotes. */
export async function makeRechecksDue() {
  await rows(
    client,
    "update tock.dependency_waits set waiting_since = waiting_since - interval '1 minute'",
  );
  await rows(
    client,
    "update tock.waiting set due_at = now() - interval '1 s' where due_after_parents is not null",
  );
  await rows(client, 'select tock.promote(1000, true)');
}
