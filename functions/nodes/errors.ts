import { statusOf } from '../database/errors.ts';
import { refusal, retryAfterHeader } from '../http/problem.ts';

type Failed = { code?: string };

/** True if the database of a node does not answer, or not now. */
export const isDown = (error: unknown) => {
  const { code } = error as Failed;
  return statusOf(code) === 503 && !code?.startsWith('TK');
};

/**
 * True if another node owns the queue, task or lease of a statement. Then it has changed nothing. 3F000: Citus has not
 * sent it on from the coordinator, which has no schema tock; so it is for seconds after citus_update_node().
 */
export const isElsewhere = (error: unknown) =>
  ['TK421', '3F000'].includes((error as Failed).code ?? '');

/** An error with the node that it comes from. */
export const fromNode = (error: unknown, node: number | null) =>
  error instanceof Error && node !== null ? Object.assign(error, { node }) : error;

export const moving = () =>
  refusal(503, 'What this call is for is moving to another node. The call had no effect.', {
    hint: 'Repeat the call.',
    headers: retryAfterHeader(),
  });
