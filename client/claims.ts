import type { Call, WaitOptions } from './call.ts';
import { TockError } from './errors.ts';
import type { ClaimAnswer, ClaimOptions, ClaimState, LeasedTasks, LeaseEnd } from './types.ts';
import type { Answer } from './wire.ts';

export type Weighted = string | { queue: string; weight: number };

export type Claims = {
  /**
   * Claims from the queues in order, or with weights in a weighted random order. With one queue it can first end leases
   * of earlier claims, in the same transaction.
   */
  claim(
    queues: Weighted[],
    options?: ClaimOptions & { ends?: LeaseEnd[] },
    signal?: AbortSignal,
  ): Promise<ClaimAnswer>;
  /** Claims one task for a worker. While the worker's lease is open, it returns the same task and extends the lease. */
  claimForWorker(queue: string, worker: string, lease_seconds?: number): Promise<ClaimAnswer>;
};

type SingleClaimAnswer = Answer<'POST /v1/queues/{queue}/claim'>;

/** Converts the answer of one queue to the form of several queues. */
function fromSingle(queue: string, answer: SingleClaimAnswer): ClaimAnswer {
  const { lease, leased_until, tasks, ...rest } = answer;
  const leases = lease && leased_until ? [{ queue, lease, leased_until, tasks }] : [];
  return { leases: leases.map(withQueueNames), ...rest };
}

/** Adds the queue's name to each task: a worker of several queues needs it to choose the handler. */
const withQueueNames = (leased: Answer<'POST /v1/claim'>['leases'][number]): LeasedTasks => ({
  ...leased,
  tasks: leased.tasks.map((task) => ({ ...task, queue: leased.queue })),
});

const emptyAnswer: ClaimAnswer = { leases: [], state: 'busy', retry_after_seconds: 1 };

/** Claims with a request id. A 409 means that the answer to an earlier attempt was lost, and its lease has ended. */
export async function claimOnce<T>(
  { request_id }: ClaimOptions,
  claim: (request_id: string) => Promise<T>,
): Promise<T | ClaimAnswer> {
  try {
    return await claim(request_id ?? crypto.randomUUID());
  } catch (error) {
    const isGenerated = request_id === undefined;
    if (isGenerated && error instanceof TockError && error.status === 409) return emptyAnswer;
    throw error;
  }
}

/** Throws for JSON that is not Tock's, such as a proxy's: a worker would take it for an empty answer. */
function checked<A extends { state: ClaimState }>(answer: A): A {
  if (typeof answer.state === 'string') return answer;
  throw new TockError(0, {
    detail: 'The answer to a claim is not that of a Tock server. Check the URL.',
  });
}

export function httpClaims(call: Call): Claims {
  const claimFrom = async (queue: string, verb: string, body: object, wait?: WaitOptions) => {
    const path = `/v1/queues/${encodeURIComponent(queue)}/${verb}`;
    return fromSingle(queue, checked(await call<SingleClaimAnswer>('POST', path, body, wait)));
  };
  return {
    claim: (queues, options = {}, signal = undefined) =>
      claimOnce(options, async (request_id) => {
        const body = { ...options, request_id };
        const hasNewRequestId = options.request_id === undefined;
        const wait = { wait_seconds: body.wait_seconds, signal, hasNewRequestId };
        const [queue] = queues;
        if (queues.length === 1 && typeof queue === 'string') {
          return claimFrom(queue, 'claim', body, wait);
        }
        const severalBody = { ...body, queues };
        const answer = checked(
          await call<Answer<'POST /v1/claim'>>('POST', '/v1/claim', severalBody, wait),
        );
        return { ...answer, leases: answer.leases.map(withQueueNames) };
      }),
    claimForWorker: (queue, worker, lease_seconds) =>
      claimFrom(queue, 'claim-for-worker', { worker, lease_seconds }),
  };
}
