import type pg from 'pg';
import { type ClaimOptions, type Run, rows } from '../../verbs.ts';

type Any = ClaimOptions & { weights?: number[]; alone?: boolean };

export const claimAny = (on: pg.Client, queues: string[], options: Any = {}) =>
  rows<Run & { queue: string }>(
    on,
    `select * from tock.claim_any(p_queues => $1, p_worker => $2, p_limit => $3, p_lease_seconds => $4,
       p_request_id => $5, p_own_transaction => $6, p_weights => $7)`,
    [
      queues,
      options.worker ?? null,
      options.limit ?? 1,
      options.lease_seconds ?? null,
      options.request_id ?? null,
      options.alone ?? false,
      options.weights ?? null,
    ],
  );

/** Each run as its queue and payload, for example mail7. */
export const queuesAndPayloads = (runs: { queue: string; payload: unknown }[]) =>
  runs.map((run) => `${run.queue}${run.payload}`);
