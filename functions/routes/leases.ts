import { z } from '@hono/zod-openapi';
import { forLeaseCalls } from '../database/connect.ts';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { type App, type Endpoint, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import { checkTargets } from '../push/guard.ts';
import { task } from './tasks.ts';

const params = z.strictObject({ lease: s.leaseToken });
const refused = z.array(s.id).openapi({ description: 'Ids that do not belong to this lease.' });

const cancel = z.array(s.id).openapi({ description: 'Tasks of this lease that were cancelled.' });

const runs = s.count.openapi({
  description:
    'The claimed runs, including those that have ended since, for each priority and lane that still has an open run.',
});

const stage = s.queueName.nullish().openapi({
  description: 'For a task with a pipeline: its next stage; null ends the pipeline here.',
});
const spawn = s
  .options({
    queue: s.queueName.nullish(),
    tasks: s.list(task, 1),
    wait: s.flag.nullish(),
    on_failure: s.word('run', 'cancel', 'wait').nullish(),
  })
  .nullish()
  .openapi({
    description:
      "Tasks to add, by default to the task's own queue. With wait, the task continues when they have ended.",
  });
const result = s.options({ id: s.id, result: s.anything.optional(), stage, spawn });
const outcome = {
  error: s.anything.optional(),
  retry_in_seconds: s.seconds.nullish(),
  fatal: s.flag.nullish(),
};
const failure = s.options({ id: s.id, ...outcome });

const progressFields = { progress: s.number(0, 100).nullish(), note: s.upTo(500).nullish() };
const hasProgress = (body: { progress?: unknown; note?: unknown }) =>
  body.progress != null || body.note != null;
const empty = { error: 'give progress, a note or both' };
const progress = z
  .union([
    s.list(s.options({ id: s.id, ...progressFields }).refine(hasProgress, empty), 1),
    s.options(progressFields, 'or a list with id').refine(hasProgress, empty),
  ])
  .openapi({ description: 'The progress of runs: a list, or one object for all.' });

type Verb<B extends z.ZodType> = Pick<
  Endpoint<typeof params, B>,
  'summary' | 'description' | 'batchKey' | 'statement' | 'values' | 'check'
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
    summary: 'Complete runs: those in results, or all that are left',
    description:
      'A task with a pipeline continues in its next stage, or in the stage given, with the result as its payload.',
    body: s.options({ results: s.list(result, 1).optional() }),
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
    answer: z.strictObject({ completed: s.count, refused }),
  });

  verb({
    name: 'fail',
    summary: 'Fail runs: those in failures, or all that are left',
    description:
      'error is optional: {} or an empty body fails all runs that are left, without an error.',
    body: z.union([s.options({ failures: s.list(failure, 1) }), s.options(outcome, 'failures')]),
    batchKey: 'failures',
    statement: leaseStatement(
      'v.failed, v.dead, v.refused::text[] as refused',
      `tock.fail(p_lease => $2::uuid, p_failures => coalesce($3::jsonb -> 'failures', $3::jsonb)) as v`,
    ),
    values: ({ params, text }) => [params.lease, text],
    answer: z.strictObject({ failed: s.count, dead: s.count, refused }),
  });

  verb({
    name: 'release',
    summary: 'Release runs without counting an attempt: those in ids, or all that are left',
    body: s.options({ ids: s.list(s.id, 1).optional() }),
    statement: leaseStatement(
      'v.released, v.refused::text[] as refused',
      'tock.release(p_lease => $2::uuid, p_ids => $3::bigint[]) as v',
    ),
    values: ({ params, body }) => [params.lease, body.ids],
    answer: z.strictObject({ released: s.count, refused }),
  });

  verb({
    name: 'extend',
    summary:
      'Extend the lease to lease_seconds from now (never shorten it), record progress, and list the tasks to cancel',
    body: s.options({ lease_seconds: s.leaseSeconds.optional(), progress: progress.nullish() }),
    statement: leaseStatement(
      "v.leased_until, v.runs, coalesce(v.cancel, '{}')::text[] as cancel, v.refused::text[] as refused",
      'tock.extend(p_lease => $2::uuid, p_seconds => $3, p_progress => $4::jsonb) as v',
    ),
    values: ({ params, body }) => [
      params.lease,
      body.lease_seconds,
      body.progress ? JSON.stringify(body.progress) : null,
    ],
    answer: z.strictObject({ leased_until: s.moment, runs, cancel, refused }),
  });
}
