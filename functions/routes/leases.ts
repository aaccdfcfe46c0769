import { z } from '@hono/zod-openapi';
import { forLeaseCalls } from '../database/connect.ts';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { type App, type Endpoint, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import { checkTargets } from '../push/guard.ts';
import { failure, id, outcome, result } from './outcome_schemas.ts';

const params = z.strictObject({
  lease: s.leaseToken.describe('The token of the lease, as the claim returned it.'),
});
const refused = z
  .array(s.id)
  .describe(
    'The ids that the call left alone: they are not in this lease, or had ended otherwise.',
  );

const cancel = z
  .array(s.id)
  .describe('The tasks of this lease with a cancel request. The worker stops work on them.');

const runs = s.count.describe(
  'The number of claimed runs in the streams that still have an open run, including those that have ended since.',
);

const progressFields = {
  progress: s.number(0, 100).nullish().describe('How far the run is, in per cent.'),
  note: s.upTo(500).nullish().describe('A text for people.'),
};
const hasProgress = (body: { progress?: unknown; note?: unknown }) =>
  body.progress != null || body.note != null;
const empty = { error: 'give progress, a note or both' };
const progress = z
  .union([
    s.list(s.options({ id, ...progressFields }).refine(hasProgress, empty), 1),
    s.options(progressFields, 'or a list with id').refine(hasProgress, empty),
  ])
  .describe('The progress of the runs: a list, or one object for all of them.');

type Verb<B extends z.ZodType> = Pick<
  Endpoint<typeof params, B>,
  | 'operationId'
  | 'summary'
  | 'description'
  | 'returns'
  | 'batchKeys'
  | 'statement'
  | 'values'
  | 'check'
  | 'changes'
> & {
  name: string;
  body: B;
  answer: z.ZodType;
};

/** `select` is the SQL text of the verb's answer; the lease is $2. */
const leaseStatement = (select: string, from: string) =>
  authorized('claim', 'tock.queue_of_lease(p_lease => $2::uuid)', select, from);

/** /v1/leases/:lease/… No row means that the lease is unknown or has ended, or that another worker has the runs. */
export function leases(app: App, connect: Connect): void {
  const leaseConnect: Connect = (env, use) => connect(forLeaseCalls(env ?? {}), use);
  const verb = <B extends z.ZodType>({ name, ...endpoint }: Verb<B>) =>
    serve(app, leaseConnect, {
      ...endpoint,
      share: 'ends',
      tag: 'Workers',
      method: 'post',
      path: `/v1/leases/{lease}/${name}`,
      params,
      none: {
        status: 409,
        detail:
          'This lease is not valid any more: it is unknown, has ended, or its tasks were leased to another worker.',
        hint: 'Discard the work and claim again; another worker runs the tasks that were not completed.',
      },
    });

  verb({
    name: 'complete',
    operationId: 'completeRuns',
    summary: 'Complete runs of a lease: those in `results`, or all that are left',
    description:
      'A task with a pipeline continues in its next stage, or in `stage`, with the result as its payload. A repeated call with the same body returns the same answer.',
    returns: 'The number of completed runs, and the ids that the call left alone.',
    body: s.options({
      results: s
        .list(result, 1)
        .optional()
        .describe('The runs to complete. Default: all that are left, without results.'),
    }),
    check({ body }, env) {
      for (const [n, { spawn }] of (body.results ?? []).entries()) {
        checkTargets(`results[${n}].spawn.tasks`, spawn?.tasks ?? [], env);
      }
    },
    statement: {
      ...leaseStatement(
        'v.completed, v.refused::text[] as refused',
        "tock.complete(p_lease => $2::uuid, p_results => $3::jsonb -> 'results') as v",
      ),
      key: 'select tock.http_complete(p_key => $1, p_lease => $2, p_body => $3) as body',
    },
    values: ({ params, text }) => [params.lease, text],
    answer: z.strictObject({
      completed: s.count.describe('The number of completed runs.'),
      refused,
    }),
  });

  verb({
    name: 'fail',
    operationId: 'failRuns',
    summary: 'Fail runs of a lease: those in `failures`, or all that are left',
    description:
      '`error` is optional: {} or an empty body fails all runs that are left, without an error. A task waits for its backoff and runs again. After a fatal error or its last attempt it is dead.',
    returns: 'The number of failed runs, and the ids that the call left alone.',
    body: z.union([
      s.options({ failures: s.list(failure, 1).describe('The runs to fail.') }),
      s.options(outcome, 'failures'),
    ]),
    batchKeys: ['failures'],
    statement: leaseStatement(
      'v.failed, v.dead, v.refused::text[] as refused',
      `tock.fail(p_lease => $2::uuid, p_failures => coalesce($3::jsonb -> 'failures', $3::jsonb)) as v`,
    ),
    values: ({ params, text }) => [params.lease, text],
    answer: z.strictObject({
      failed: s.count.describe('The number of failed runs.'),
      dead: s.count.describe('How many of their tasks are dead.'),
      refused,
    }),
  });

  verb({
    name: 'release',
    operationId: 'releaseRuns',
    summary: 'Release runs of a lease: those in `ids`, or all that are left',
    description:
      'The tasks are ready again at once, at the end of their queue. A release counts as no attempt.',
    returns: 'The number of released runs, and the ids that the call left alone.',
    body: s.options({
      ids: s.list(s.id, 1).optional().describe('The ids of the tasks. Default: all that are left.'),
    }),
    statement: leaseStatement(
      'v.released, v.refused::text[] as refused',
      'tock.release(p_lease => $2::uuid, p_ids => $3::bigint[]) as v',
    ),
    values: ({ params, body }) => [params.lease, body.ids],
    answer: z.strictObject({
      released: s.count.describe('The number of released runs.'),
      refused,
    }),
  });

  verb({
    name: 'extend',
    operationId: 'extendLease',
    summary: 'Extend a lease, record progress, and list the tasks to cancel',
    description:
      'The call moves the deadline to `lease_seconds` from now. It never moves the deadline back, nor beyond the time limit of a run.',
    returns: 'The deadline of the lease, and the tasks to cancel.',
    body: s.options({
      lease_seconds: s.leaseSeconds
        .optional()
        .describe('The time from now to the deadline. Default: `lease_seconds` of the queue.'),
      progress: progress.nullish(),
    }),
    statement: leaseStatement(
      "v.leased_until, v.runs, coalesce(v.cancel, '{}')::text[] as cancel, v.refused::text[] as refused",
      'tock.extend(p_lease => $2::uuid, p_seconds => $3, p_progress => $4::jsonb) as v',
    ),
    values: ({ params, body }) => [
      params.lease,
      body.lease_seconds,
      body.progress ? JSON.stringify(body.progress) : null,
    ],
    changes: () => [],
    answer: z.strictObject({
      leased_until: s.moment.describe('The deadline of the lease.'),
      runs,
      cancel,
      refused,
    }),
  });
}
