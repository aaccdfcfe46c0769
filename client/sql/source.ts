import type { Claims } from '../claims.ts';
import { LeaseLost } from '../errors.ts';
import type { Leases } from '../lease.ts';
import { pause } from '../pause.ts';
import type { ClaimAnswer, ClaimOptions, LeasedTasks } from '../types.ts';
import { ask, type SqlClient } from './ask.ts';
import * as statements from './statements.ts';

type Row = Omit<ClaimAnswer, 'leases'> & { leases: string };

export const over = () =>
  new LeaseLost(409, {
    detail: 'This lease is no longer yours: it is unknown, has ended or was given to another.',
  });

const FIRST_LOOK_MS = 50;
const LAST_LOOK_MS = 1000;

function answerOf({ leases, ...said }: Row): ClaimAnswer {
  const all = JSON.parse(leases) as LeasedTasks[];
  const named = all.map((one) => ({
    ...one,
    tasks: one.tasks.map((task) => ({ ...task, queue: one.queue })),
  }));
  return { ...said, leases: named };
}

/** The verbs of claims and leases, each a statement of its own. One that waits asks again: nothing sleeps in the database. */
export function sqlSource(client: SqlClient): Claims & Leases {
  const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
  const ofLease = async <T>(text: string, values: unknown[], signal?: AbortSignal): Promise<T> => {
    const row = await ask<T>(client, text, values, signal);
    if (!row) throw over();
    return row;
  };
  const once = async (text: string, values: unknown[]) =>
    answerOf((await ask<Row>(client, text, values)) as Row);
  return {
    async claim(queues, options: ClaimOptions = {}, signal) {
      const { worker, limit = 1, lease_seconds, wait_seconds = 0, request_id } = options;
      const names = queues.map((one) => (typeof one === 'string' ? one : one.queue));
      const weights = queues.map((one) => (typeof one === 'string' ? 1 : one.weight));
      const drawn = queues.some((one) => typeof one !== 'string');
      const end = performance.now() + wait_seconds * 1000;
      for (let ms = FIRST_LOOK_MS; ; ms = Math.min(LAST_LOOK_MS, ms * 1.2)) {
        const values = [worker, limit, lease_seconds, request_id ?? crypto.randomUUID()];
        const answer =
          names.length === 1
            ? await once(statements.claimedOne, [names[0], ...values])
            : await once(statements.claimedAny, [names, ...values, drawn ? weights : null]);
        const left = end - performance.now();
        if (answer.state === 'found' || left <= 0 || signal?.aborted) return answer;
        await pause(answer.state === 'passing' ? 0 : Math.min(ms, left), signal);
      }
    },
    claimOwn: (queue, worker, seconds) => once(statements.claimedOwn, [queue, worker, seconds]),
    complete: (lease, results) => ofLease(statements.complete, [lease, json(results)]),
    fail: (lease, failures) => ofLease(statements.fail, [lease, json(failures)]),
    release: (lease, ids) => ofLease(statements.release, [lease, ids]),
    extend: (lease, seconds, progress, signal) =>
      ofLease(statements.extend, [lease, seconds, json(progress)], signal),
  };
}
