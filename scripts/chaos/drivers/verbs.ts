import { reads, readsInSql } from './reads.ts';
import type { Args, Spelled } from './spelled.ts';
import { stepVerbs } from './step_verbs.ts';

const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
const orNull = (value: unknown) => value ?? null;

const leased = `to_json(c.lease) #>> '{}' as lease, c.leased_until,
  json_agg(json_build_object('id', c.id::text, 'run_id', c.run_id::text, 'attempt', c.attempt, 'payload', c.payload)) as tasks`;

/** A claim without tasks returns no lease: null over HTTP, where it may wait, no row in SQL. */
const claim = ({ queue, alone, isNew, ...body }: Args): Spelled => ({
  http: ['POST', `/v1/queues/${queue}/claim`, body],
  sql: [
    `select ${leased} from tock.claim(p_queue => $1, p_worker => $2, p_limit => $3, p_lease_seconds => $4,
       p_request_id => $5, p_own_transaction => $6) c group by c.lease, c.leased_until
     union all select null, null, null limit 1`,
    queue,
    orNull(body.worker),
    body.limit,
    orNull(body.lease_seconds),
    orNull(body.request_id),
    alone ?? false,
  ],
});

/** The end of leases and a claim in one call. Its row has `ended`, and no lease if it claims nothing. */
const next = ({ queue, alone, ends, ...body }: Args): Spelled => ({
  http: ['POST', `/v1/queues/${queue}/claim`, { ...body, ends }],
  sql: [
    `select n.ended, r.* from tock.next(p_queue => $1, p_ends => $2, p_worker => $3, p_limit => $4,
       p_lease_seconds => $5, p_request_id => $6, p_own_transaction => $7) n
     left join lateral (
       select ${leased} from unnest(n.claimed) c group by c.lease, c.leased_until) r on true`,
    queue,
    json(ends),
    orNull(body.worker),
    body.limit,
    orNull(body.lease_seconds),
    orNull(body.request_id),
    alone ?? false,
  ],
});

const claimAny = ({ queues, alone, isNew, ...body }: Args): Spelled => ({
  http: ['POST', '/v1/claim', { ...body, queues }],
  sql: [
    `select coalesce(json_agg(l), '[]') as leases from (
       select c.queue, ${leased} from tock.claim_any(p_queues => $1, p_worker => $2, p_limit => $3, p_lease_seconds => $4,
         p_request_id => $5, p_own_transaction => $6) c group by c.queue, c.lease, c.leased_until) l`,
    queues,
    orNull(body.worker),
    body.limit,
    orNull(body.lease_seconds),
    orNull(body.request_id),
    alone ?? false,
  ],
});

const changed = (call: string) =>
  `select v.id::text as id, v.state, v.changed from tock.${call} as v`;

/** A statement that changes any number of tasks. Like the answer over HTTP, its row has the state of the first one. */
const forMany = (call: string) =>
  `select (json_agg(v) -> 0) ->> 'state' as state, bool_or(v.changed) as changed, json_agg(v) as tasks
   from (${changed(call)}) v having count(*) > 0`;

function change({ ids, changes }: Args): Spelled {
  const http: Spelled['http'] = ['PATCH', `/v1/tasks/${ids[0]}`, changes];
  const { priority, run_at } = changes;
  if (priority !== undefined)
    return { http, sql: [forMany('reprioritize(p_ids => $1, p_priority => $2)'), ids, priority] };
  if (run_at !== undefined)
    return { http, sql: [forMany('reschedule(p_ids => $1, p_run_at => $2)'), ids, run_at] };
  return { http, sql: [forMany('change(p_ids => $1, p_changes => $2)'), ids, json(changes)] };
}

/** Every verb of the load. No other part of the harness knows the routes or the names of the SQL functions. */
export const verbs = {
  enqueue: ({ queue, tasks, payloads, request_id, single }: Args): Spelled => ({
    http: [
      'POST',
      `/v1/queues/${queue}/tasks`,
      {
        ...(payloads ? { payloads } : single ? tasks[0] : { tasks }),
        ...(request_id && { request_id }),
      },
    ],
    sql: [
      payloads
        ? 'select tock.enqueue_payloads(p_queue => $1, p_payloads => $2, p_request_id => $3)::text[] as ids'
        : 'select tock.enqueue(p_queue => $1, p_tasks => $2, p_request_id => $3)::text[] as ids',
      queue,
      json(payloads ?? tasks),
      orNull(request_id),
    ],
  }),
  claim,
  next,
  'claim any': claimAny,
  complete: ({ lease, ...body }: Args): Spelled => ({
    http: ['POST', `/v1/leases/${lease}/complete`, body],
    sql: [
      'select completed, refused::text[] from tock.complete(p_lease => $1, p_results => $2)',
      lease,
      json(body.results),
    ],
    none: 409,
  }),
  fail: ({ lease, ...body }: Args): Spelled => ({
    http: ['POST', `/v1/leases/${lease}/fail`, body],
    sql: [
      'select failed, dead, refused::text[] from tock.fail(p_lease => $1, p_failures => $2)',
      lease,
      json(body.failures),
    ],
    none: 409,
  }),
  release: ({ lease, ...body }: Args): Spelled => ({
    http: ['POST', `/v1/leases/${lease}/release`, body],
    sql: [
      'select released, refused::text[] from tock.release(p_lease => $1, p_ids => $2)',
      lease,
      orNull(body.ids),
    ],
    none: 409,
  }),
  extend: ({ lease, ...body }: Args): Spelled => ({
    http: ['POST', `/v1/leases/${lease}/extend`, body],
    sql: [
      'select leased_until from tock.extend(p_lease => $1, p_seconds => $2, p_progress => $3)',
      lease,
      orNull(body.lease_seconds),
      json(body.progress),
    ],
    none: 409,
  }),
  cancel: ({ ids }: Args): Spelled => ({
    http: ['POST', `/v1/tasks/${ids[0]}/cancel`, {}],
    sql: [forMany('cancel(p_ids => $1)'), ids],
  }),
  change,
  move: ({ ids, queue }: Args): Spelled => ({
    http: ['POST', '/v1/tasks/move', { ids, queue }],
    sql: [forMany('move(p_ids => $1, p_queue => $2)'), ids, queue],
  }),
  rerun: ({ id, request_id }: Args): Spelled => ({
    http: ['POST', `/v1/tasks/${id}/rerun`, { request_id }],
    sql: [
      `select array_remove(array[r.rerun_id::text], null) as ids
       from tock.rerun(p_ids => array[$1::bigint], p_request_id => $2) r`,
      id,
      request_id,
    ],
  }),
  redrive: ({ queue, request_id, limit }: Args): Spelled => ({
    http: ['POST', `/v1/queues/${queue}/redrive`, { request_id, limit }],
    sql: [
      'select ids::text[] from tock.redrive(p_queue => $1, p_request_id => $2, p_limit => $3)',
      queue,
      request_id,
      limit,
    ],
  }),
  pause: ({ queue, paused }: Args): Spelled => ({
    http: ['PUT', `/v1/queues/${queue}`, { paused }],
    sql: [
      'select paused from tock.put_queue(p_queue => $1, p_policy => $2)',
      queue,
      json({ paused }),
    ],
  }),
  purge: ({ queue }: Args): Spelled => ({
    http: ['POST', `/v1/queues/${queue}/purge`, {}],
    sql: ['select ready, waiting from tock.purge_queue(p_queue => $1)', queue],
  }),
  'cancel by filter': ({ queue, tenant }: Args): Spelled => ({
    http: ['POST', `/v1/queues/${queue}/cancel`, { tenant }],
    sql: [
      'select matched, changed from tock.cancel_where(p_queue => $1, p_filter => $2)',
      queue,
      json({ tenant }),
    ],
  }),
  reprioritize: ({ queue, tenant, priority }: Args): Spelled => ({
    http: ['POST', `/v1/queues/${queue}/reprioritize`, { tenant, priority }],
    sql: [
      'select matched, changed from tock.reprioritize_where(p_queue => $1, p_filter => $2, p_priority => $3)',
      queue,
      json({ tenant }),
      priority,
    ],
  }),
  concurrency_key: ({ queue, concurrency_key, concurrency_limit }: Args): Spelled => ({
    http: [
      'PATCH',
      `/v1/queues/${queue}/concurrency-keys/${concurrency_key}`,
      { concurrency_limit },
    ],
    sql: [
      'select concurrency_key from tock.put_concurrency_key(p_queue => $1, p_concurrency_key => $2, p_settings => $3)',
      queue,
      concurrency_key,
      json({ concurrency_limit }),
    ],
  }),
  'put schedule': ({ schedule, settings }: Args): Spelled => ({
    http: ['PUT', `/v1/schedules/${schedule}`, settings],
    sql: [
      'select 1 from tock.put_schedule(p_schedule => $1, p_settings => $2)',
      schedule,
      json(settings),
    ],
  }),
  'run schedule': ({ schedule, request_id }: Args): Spelled => ({
    http: ['POST', `/v1/schedules/${schedule}/run`, { request_id }],
    sql: [
      'select r::text as id from tock.run_schedule(p_schedule => $1, p_request_id => $2) r',
      schedule,
      request_id,
    ],
  }),
  'make key': (): Spelled => ({
    http: ['POST', '/v1/keys', { name: 'chaos', scopes: ['read'], queues: ['plain'] }],
    sql: [
      `select key, prefix from tock.create_key(p_name => 'chaos', p_scopes => array['read'], p_queues => array['plain'])`,
    ],
  }),
  'use key': ({ key }: Args): Spelled => ({
    http: ['GET', '/v1/queues/plain'],
    sql: [
      `select tock.authorize(p_key => $1, p_scope => 'read', p_queue => 'plain') as allowed`,
      key,
    ],
  }),
  'rotate key': ({ prefix }: Args): Spelled => ({
    http: ['POST', `/v1/keys/${prefix}/rotate`, { overlap_seconds: 0 }],
    sql: ['select prefix from tock.rotate_key(p_prefix => $1, p_overlap_seconds => 0)', prefix],
  }),
  'end key': ({ prefix }: Args): Spelled => ({
    http: ['DELETE', `/v1/keys/${prefix}`],
    sql: ['select 1 where tock.revoke_key(p_prefix => $1)', prefix],
  }),
  tick: (): Spelled => ({ http: ['POST', '/v1/tick', {}], sql: ['select tock.tick()'] }),
  task: ({ id }: Args): Spelled => ({
    http: ['GET', `/v1/tasks/${id}`],
    sql: ['select state from tock.task(p_id => $1)', id],
  }),
  ...stepVerbs,
  read: ({ n }: Args): Spelled => ({
    http: ['GET', reads[n % reads.length] as string],
    sql: [`select count(*) from ${readsInSql[n % readsInSql.length]}`],
  }),
} satisfies Record<string, (args: Args) => Spelled>;

export type Verb = keyof typeof verbs;
