const claimOptions =
  'p_worker => $2, p_limit => $3, p_lease_seconds => $4, p_request_id => $5, p_own_transaction => true';

const claimSql = (rows: string, queues: string, ended = '') => `with ${
  ended &&
  `ended as materialized (
    ${ended}
  ), `
}claimed as materialized (
    ${rows}
  ), headers as materialized (
    select d.lease, tock.lease_headers(p_lease => d.lease) as by_run from (select distinct c.lease from claimed c) d
  ), leases as materialized (
    select c.queue, c.lease, min(c.leased_until) as leased_until, min(c.ordinality) as n,
      json_agg(json_build_object('id', c.id::text, 'run_id', c.run_id::text, 'attempt', c.attempt,
        'max_attempts', c.max_attempts, 'priority', c.priority, 'tenant', c.tenant, 'created_at', c.created_at,
        'payload', c.payload, 'headers', h.by_run -> c.run_id::text -> 'headers',
        'push_url', h.by_run -> c.run_id::text ->> 'push_url',
        'steps', h.by_run -> c.run_id::text -> 'steps') order by c.ordinality) as tasks
    from claimed c join headers h on h.lease = c.lease
    group by c.queue, c.lease
  ), answer as materialized (
    select json_agg(json_build_object('queue', l.queue, 'lease', l.lease, 'leased_until', l.leased_until,
      'tasks', l.tasks) order by l.n)::text as leases
    from leases l
  )
  select coalesce(a.leases, '[]') as leases, coalesce(s.state, 'found') as state,
    coalesce(s.retry_after_seconds, 0) as retry_after_seconds${ended && ', e.ended'}
  from ${ended && 'ended e cross join '}answer a left join lateral tock.claim_state(${queues}) s on a.leases is null`;

/** Claims, one statement each, whose leases are JSON text. */
export const claim = claimSql(
  `select $1::text as queue, c.* from tock.claim(p_queue => $1, ${claimOptions}) with ordinality c`,
  'array[$1::text]',
);

/** Ends leases, then claims; the answer has what it ended. */
export const next = claimSql(
  'select $1::text as queue, c.* from ended e cross join lateral unnest(e.claimed) with ordinality c',
  'array[$1::text]',
  `select n.* from tock.next(p_queue => $1, p_ends => $6, ${claimOptions}) n`,
);

export const claimForWorker = claimSql(
  `select $1::text as queue, c.* from tock.claim_for_worker(p_queue => $1, p_worker => $2, p_lease_seconds => $3) with ordinality c`,
  'array[$1::text]',
);

export const claimAny = claimSql(
  `select c.* from tock.claim_any(p_queues => $1, ${claimOptions}, p_weights => $6) with ordinality c`,
  '$1::text[]',
);

export const complete =
  'select completed, refused::text[] as refused from tock.complete(p_lease => $1, p_results => $2)';

/** Begins a handler's transaction. A setting local to it shows later that the same transaction is still open. */
export const beginFor = (run_id: string) =>
  `begin; set local tock_client.run = '${run_id.replaceAll(/\D/g, '')}'`;

/** Whether the transaction of a handler is still open, and has changed anything. */
export const openTransaction = `select pg_catalog.current_setting('tock_client.run', true) is not distinct from $1 as within,
    pg_catalog.pg_current_xact_id_if_assigned() is not null as has_written`;

export const completeInTransaction = `select w.within, c.completed, c.refused::text[] as refused
  from (select pg_catalog.current_setting('tock_client.run', true) is not distinct from $3 as within) w
    left join lateral tock.complete(p_lease => case when w.within then $1::uuid end, p_results => $2) c on w.within`;

export const fail =
  'select failed, dead, refused::text[] as refused from tock.fail(p_lease => $1, p_failures => $2)';

export const release =
  'select released, refused::text[] as refused from tock.release(p_lease => $1, p_ids => $2)';

export const extend = `select to_json(leased_until) as leased_until, runs,
    coalesce(cancel, '{}')::text[] as cancel, refused::text[] as refused
  from tock.extend(p_lease => $1, p_seconds => $2, p_progress => $3)`;

export const saveSteps = `select json_agg(json_build_object('id', d.id::text, 'name', d.name, 'state', d.state,
    'result', d.result, 'error', d.error, 'due_at', d.due_at, 'cancel_requested', d.cancel_requested) order by d.n) as steps
  from rows from (tock.save_steps(p_lease => $1, p_steps => $2)) with ordinality
    d (id, name, state, result, error, due_at, cancel_requested, n)
  having bool_or(d.state <> 'lost')`;

export const leasedSteps =
  'select s.steps from (select tock.lease_steps(p_lease => $1, p_id => $2) as steps) s where s.steps is not null';

export const eventLink =
  'select l.token from tock.create_event_link(p_event => $1, p_valid_seconds => coalesce($2::integer, 604800)) l';
