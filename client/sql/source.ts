import { type Claims, claimOnce } from '../claims.ts';
import { LeaseLost } from '../errors.ts';
import { type Leases, linkUrl } from '../lease.ts';
import { pause } from '../pause.ts';
import type { ClaimAnswer, LeasedTasks, SavedStep, StepOutcome } from '../types.ts';
import { queryWithRetry, type SqlClient } from './query.ts';
import * as statements from './statements.ts';

type Row = Omit<ClaimAnswer, 'leases'> & { leases: string };

export const leaseEnded = () =>
  new LeaseLost(409, {
    detail:
      'This lease is not valid any more: it is unknown, has ended, or its tasks were leased to another worker.',
  });

const FIRST_POLL_MS = 50;
const MAX_POLL_MS = 1000;

function parseClaim({ leases, ...rest }: Row): ClaimAnswer {
  const all = JSON.parse(leases) as LeasedTasks[];
  const withQueueNames = all.map((lease) => ({
    ...lease,
    tasks: lease.tasks.map((task) => ({ ...task, queue: lease.queue })),
  }));
  return { ...rest, leases: withQueueNames };
}

/**
 * Claims and lease operations, one statement each. A waiting claim polls, so no session sleeps in the database. `url` is
 * the address of the HTTP API, for links.
 */
export function sqlSource(client: SqlClient, url?: string): Claims & Leases {
  const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
  const onLease = async <T>(text: string, values: unknown[], signal?: AbortSignal): Promise<T> => {
    const row = await queryWithRetry<T>(client, text, values, signal);
    if (!row) throw leaseEnded();
    return row;
  };
  const claimOnceBy = async (text: string, values: unknown[], signal?: AbortSignal) =>
    parseClaim((await queryWithRetry<Row>(client, text, values, signal)) as Row);
  return {
    async claim(queues, options = {}, signal) {
      const { worker, limit = 1, lease_seconds, wait_seconds = 0, ends } = options;
      const names = queues.map((queue) => (typeof queue === 'string' ? queue : queue.queue));
      const weights = queues.map((queue) => (typeof queue === 'string' ? 1 : queue.weight));
      const hasWeights = queues.some((queue) => typeof queue !== 'string');
      const end = performance.now() + wait_seconds * 1000;
      for (let ms = FIRST_POLL_MS; ; ms = Math.min(MAX_POLL_MS, ms * 1.2)) {
        const answer = await claimOnce(options, (request_id) => {
          const values = [worker, limit, lease_seconds, request_id];
          if (ends) return claimOnceBy(statements.next, [names[0], ...values, json(ends)], signal);
          return names.length === 1
            ? claimOnceBy(statements.claim, [names[0], ...values])
            : claimOnceBy(statements.claimAny, [names, ...values, hasWeights ? weights : null]);
        });
        const left_ms = end - performance.now();
        if (answer.state === 'found' || left_ms <= 0 || signal?.aborted || ends) return answer;
        await pause(answer.state === 'passing' ? 0 : Math.min(ms, left_ms), signal);
      }
    },
    claimForWorker: (queue, worker, seconds) =>
      claimOnceBy(statements.claimForWorker, [queue, worker, seconds]),
    complete: (lease, results) => onLease(statements.complete, [lease, json(results)]),
    fail: (lease, failures) => onLease(statements.fail, [lease, json(failures)]),
    release: (lease, ids) => onLease(statements.release, [lease, ids]),
    extend: (lease, seconds, progress, signal) =>
      onLease(statements.extend, [lease, seconds, json(progress)], signal),
    saveSteps: async (lease, steps) =>
      (await onLease<{ steps: StepOutcome[] }>(statements.saveSteps, [lease, json(steps)])).steps,
    steps: async (lease, id) =>
      (await onLease<{ steps: SavedStep[] }>(statements.leasedSteps, [lease, id])).steps,
    async eventUrl(event, valid_seconds = null as never) {
      if (!url)
        throw new RangeError('waitFor.url: set the option api_url to the address of the HTTP API');
      const values = [event, valid_seconds];
      const link = await queryWithRetry<{ token: string }>(client, statements.eventLink, values);
      return linkUrl(url, (link as { token: string }).token);
    },
  };
}
