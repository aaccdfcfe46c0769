import { z } from '@hono/zod-openapi';
import { forLeaseCalls } from '../database/connect.ts';
import type { Connect } from '../database/types.ts';
import { authorized } from '../http/authorize.ts';
import { type App, type Endpoint, serve } from '../http/endpoint.ts';
import * as s from '../http/schemas.ts';
import { checkTargets } from '../push/guard.ts';
import { task } from './tasks.ts';

const params = z.strictObject({ lease: s.leaseToken });
const refused = z.array(s.id).openapi({ description: "Ids that were not this lease's." });

const cancel = z
  .array(s.id)
  .openapi({ description: 'Tasks of this lease that somebody wants cancelled.' });

const runs = s.count.openapi({
  description:
    'Runs claimed, also those that have ended since, of each priority and lane where one is left.',
});

const stage = s.queueName.nullish().openapi({
  description: 'Of a task with a pipeline: the stage where it goes on; null ends it here.',
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
      'Tasks to add, to its own queue if none is named. With wait it goes on when they have ended.',
  });
const result = s.options({ id: s.id, result: s.anything.optional(), stage, spawn });
const outcome = {
  error: s.anything.optional(),
  retry_in_seconds: s.seconds.nullish(),
  fatal: s.flag.nullish(),
};
const failure = s.options({ id: s.id, ...outcome });

const said = { progress: s.number(0, 100).nullish(), note: s.upTo(500).nullish() };
const something = (one: { progress?: unknown; note?: unknown }) =>
  one.progress != null || one.note != null;
const empty = { error: 'give progress, a note or both' };
const progress = z
  .union([
    s.list(s.options({ id: s.id, ...said }).refine(something, empty), 1),
    s.options(said, 'or a list with id').refine(something, empty),
  ])
  .openapi({ description: 'How far runs are: those in a list, or one object for all.' });

type Verb<B extends z.ZodType> = Pick<
  Endpoint<typeof params, B>,
  'summary' | 'description' | 'batchKey' | 'statement' | 'values' | 'check'
> & {
  name: string;
  body: B;
  answer: z.ZodType;
};

/** `select` is what the verb returns, in SQL; the lease is $2. */
const ofLease = (select: string, from: string) =>
  authorized('claim', 'tock.queue_of_lease(p_lease => $2::uuid)', select, from);

/** /v1/leases/:lease/… : no row means that the lease is unknown or somebody else's by now. */
export function leases(app: App, connect: Connect): void {
  const own: Connect = (env, use) => connect(forLeaseCalls(env ?? {}), use);
  const verb = <B extends z.ZodType>({ name, ...endpoint }: Verb<B>) =>
    serve(app, own, {
      ...endpoint,
      share: 'ends',
      method: 'post',
      path: `/v1/leases/{lease}/${name}`,
      params,
      none: {
        status: 409,
        detail: 'This lease is no longer yours: it is unknown, has ended or was given to another.',
        hint: 'Drop the work and claim again; what was not completed is done by somebody else.',
      },
    });

  verb({
    name: 'complete',
    summary: 'End runs as done: those in results, or all that are left',
    description:
      'A task with a pipeline goes on in its next stage, or in the one that is named, with the result as its payload.',
    body: s.options({ results: s.list(result, 1).optional() }),
    check({ body }, env) {
      for (const [n, { spawn }] of (body.results ?? []).entries()) {
        checkTargets(`results[${n}].spawn.tasks`, spawn?.tasks ?? [], env);
      }
    },
    statement: {
      ...ofLease(
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
    summary: 'End runs as failed: those in failures, or all that are left',
    description:
      'error is optional: {}, or no body at all, fails all runs that are left without one.',
    body: z.union([s.options({ failures: s.list(failure, 1) }), s.options(outcome, 'failures')]),
    batchKey: 'failures',
    statement: ofLease(
      'v.failed, v.dead, v.refused::text[] as refused',
      `tock.fail(p_lease => $2::uuid, p_failures => coalesce($3::jsonb -> 'failures', $3::jsonb)) as v`,
    ),
    values: ({ params, text }) => [params.lease, text],
    answer: z.strictObject({ failed: s.count, dead: s.count, refused }),
  });

  verb({
    name: 'release',
    summary: 'Give runs back unharmed: those in ids, or all that are left',
    body: s.options({ ids: s.list(s.id, 1).optional() }),
    statement: ofLease(
      'v.released, v.refused::text[] as refused',
      'tock.release(p_lease => $2::uuid, p_ids => $3::bigint[]) as v',
    ),
    values: ({ params, body }) => [params.lease, body.ids],
    answer: z.strictObject({ released: s.count, refused }),
  });

  verb({
    name: 'extend',
    summary:
      "Move the lease's end to lease_seconds from now, never back, say how far its runs are, and hear which tasks to cancel",
    body: s.options({ lease_seconds: s.leaseSeconds.optional(), progress: progress.nullish() }),
    statement: ofLease(
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
