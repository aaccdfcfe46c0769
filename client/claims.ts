import type { Call, Patience } from './call.ts';
import { TockError } from './errors.ts';
import type { ClaimAnswer, ClaimOptions, ClaimState, LeasedTasks } from './types.ts';
import type { Answer } from './wire.ts';

export type Weighted = string | { queue: string; weight: number };

export type Claims = {
  /** From the first queue what it has, then from the next; or, with weights, in an order drawn by them. */
  claim(queues: Weighted[], options?: ClaimOptions, signal?: AbortSignal): Promise<ClaimAnswer>;
  /** One task for a worker: while its lease is open the same again, with a later end. */
  claimOwn(queue: string, worker: string, lease_seconds?: number): Promise<ClaimAnswer>;
};

type OfOne = Answer<'POST /v1/queues/{queue}/claim'>;

/** The answers of one queue and of several have the same form then. */
function ofOne(queue: string, answer: OfOne): ClaimAnswer {
  const { lease, leased_until, tasks, state, retry_after_seconds } = answer;
  const leases = lease && leased_until ? [{ queue, lease, leased_until, tasks }] : [];
  return { leases: leases.map(named), state, retry_after_seconds };
}

/** Each task says its queue, as a worker of several asks for it. */
const named = (leased: Answer<'POST /v1/claim'>['leases'][number]): LeasedTasks => ({
  ...leased,
  tasks: leased.tasks.map((task) => ({ ...task, queue: leased.queue })),
});

const none: ClaimAnswer = { leases: [], state: 'busy', retry_after_seconds: 1 };

/** A claim under an id of its own; the first answer may be lost, and its lease run out before a repeat comes through. */
export async function claimOnce<T>(
  { request_id }: ClaimOptions,
  claim: (request_id: string) => Promise<T>,
): Promise<T | ClaimAnswer> {
  try {
    return await claim(request_id ?? crypto.randomUUID());
  } catch (error) {
    const own = request_id === undefined;
    if (own && error instanceof TockError && error.status === 409) return none;
    throw error;
  }
}

/** JSON of something else that stands in the way would be asked again and again. */
function checked<A extends { state: ClaimState }>(answer: A): A {
  if (typeof answer.state === 'string') return answer;
  throw new TockError(0, { detail: "A claim was answered with what is not Tock's." });
}

export function httpClaims(call: Call): Claims {
  const one = async (queue: string, verb: string, body: object, patience?: Patience) => {
    const path = `/v1/queues/${encodeURIComponent(queue)}/${verb}`;
    return ofOne(queue, checked(await call<OfOne>('POST', path, body, patience)));
  };
  return {
    claim: (queues, options = {}, signal = undefined) =>
      claimOnce(options, async (request_id) => {
        const body = { ...options, request_id };
        const patience = { wait_seconds: body.wait_seconds, signal };
        const [queue] = queues;
        if (queues.length === 1 && typeof queue === 'string') {
          return one(queue, 'claim', body, patience);
        }
        const several = { ...body, queues };
        const answer = checked(
          await call<Answer<'POST /v1/claim'>>('POST', '/v1/claim', several, patience),
        );
        return { ...answer, leases: answer.leases.map(named) };
      }),
    claimOwn: (queue, worker, lease_seconds) => one(queue, 'claim-own', { worker, lease_seconds }),
  };
}
