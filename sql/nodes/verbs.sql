-- The verbs for SQL users of several nodes, on every node. Each runs the verb of the schema tock on the node
-- that has the queue, lease or task, as part of the caller's transaction. Their types are built in. On that
-- node itself, the frequent ones call the verb without ask(), which would plan a statement each time. They are
-- no distributed functions, as ask() is: Citus crashes if the argument that distributes one is null, and one
-- that it has sent to a node reaches no other node.
create or replace function tock_nodes.enqueue(p_queue text, p_tasks jsonb, p_request_id text default null)
returns bigint[] language plpgsql volatile as $$
begin
  if tock_nodes.is_here(p_queue) then
    perform tock_nodes.commit_together(true);
    return tock.enqueue(p_queue => p_queue, p_tasks => p_tasks, p_request_id => p_request_id);
  end if;
  return (tock_nodes.answers(p_queue,
    'select tock.enqueue(p_queue => %1$L, p_tasks => %2$L, p_request_id => %3$L)::text',
    array[p_queue, p_tasks::text, p_request_id]))[1]::bigint[];
end $$;

comment on function tock_nodes.enqueue is 'tock.enqueue() on the node of the queue.';

create or replace function tock_nodes.claim(
  p_queue text, p_worker text default null, p_limit integer default 1,
  p_lease_seconds integer default null, p_request_id text default null)
returns table (
  lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
  priority integer, tenant text, created_at timestamptz, payload json) language plpgsql volatile as $$
declare
  v_key text;
  v_runs text[];
begin
  foreach v_key in array tock_nodes.claim_keys(p_queue) loop
    if tock_nodes.is_here(v_key) then
      perform tock_nodes.commit_together(true);
      return query
        select c.lease, c.leased_until, c.id, c.run_id, c.attempt, c.max_attempts, c.priority, c.tenant,
          c.created_at, c.payload
        from tock.claim(p_queue => p_queue, p_worker => p_worker, p_limit => p_limit,
          p_lease_seconds => p_lease_seconds, p_request_id => p_request_id) c;
      if found then
        return;
      end if;
    else
      v_runs := tock_nodes.answers(v_key,
        'select pg_catalog.row_to_json(c)::text from tock.claim(p_queue => %1$L, p_worker => %2$L, '
          'p_limit => %3$L, p_lease_seconds => %4$L, p_request_id => %5$L) c',
        array[p_queue, p_worker, p_limit::text, p_lease_seconds::text, p_request_id]);
      exit when v_runs <> '{}';
    end if;
  end loop;
  return query
    select r.* from unnest(v_runs) with ordinality a (run, n)
    cross join lateral pg_catalog.json_to_record(a.run::json) r (lease uuid, leased_until timestamptz,
      id bigint, run_id bigint, attempt integer, max_attempts integer, priority integer, tenant text,
      created_at timestamptz, payload json)
    order by a.n;
end $$;

comment on function tock_nodes.claim is
  'tock.claim() on the node of the queue; first on nodes that the queue has left, while they have tasks of it.';

create or replace function tock_nodes.complete(p_lease uuid, p_results jsonb default null)
returns table (completed integer, refused bigint[]) language plpgsql volatile as $$
begin
  if tock_nodes.is_here(tock_nodes.lease_key(p_lease)) then
    perform tock_nodes.commit_together(true);
    return query
      select c.completed, c.refused from tock.complete(p_lease => p_lease, p_results => p_results) c;
    return;
  end if;
  return query
    select r.*
    from unnest(tock_nodes.answers(tock_nodes.lease_key(p_lease),
      'select pg_catalog.row_to_json(c)::text from tock.complete(p_lease => %1$L, p_results => %2$L) c',
      array[p_lease::text, p_results::text])) a (answer)
    cross join lateral pg_catalog.json_to_record(a.answer::json) r (completed integer, refused bigint[]);
end $$;

comment on function tock_nodes.complete is 'tock.complete() on the node of the lease.';

create or replace function tock_nodes.fail(p_lease uuid, p_failures jsonb default null)
returns table (failed integer, dead integer, refused bigint[]) language sql volatile as $$
  select r.* from unnest(tock_nodes.answers(tock_nodes.lease_key(p_lease),
    'select pg_catalog.row_to_json(c)::text from tock.fail(p_lease => %1$L, p_failures => %2$L) c',
    array[p_lease::text, p_failures::text])) a (answer)
  cross join lateral pg_catalog.json_to_record(a.answer::json) r (failed integer, dead integer,
    refused bigint[])
$$;

comment on function tock_nodes.fail is 'tock.fail() on the node of the lease.';

create or replace function tock_nodes.extend(
  p_lease uuid, p_seconds integer default null, p_progress jsonb default null)
returns table (leased_until timestamptz, runs integer, cancel bigint[], refused bigint[])
language sql volatile as $$
  select r.* from unnest(tock_nodes.answers(tock_nodes.lease_key(p_lease),
    'select pg_catalog.row_to_json(c)::text from tock.extend('
      'p_lease => %1$L, p_seconds => %2$L, p_progress => %3$L) c',
    array[p_lease::text, p_seconds::text, p_progress::text])) a (answer)
  cross join lateral pg_catalog.json_to_record(a.answer::json) r (leased_until timestamptz, runs integer,
    cancel bigint[], refused bigint[])
$$;

comment on function tock_nodes.extend is 'tock.extend() on the node of the lease.';

create or replace function tock_nodes.release(p_lease uuid, p_ids bigint[] default null)
returns table (released integer, refused bigint[]) language sql volatile as $$
  select r.* from unnest(tock_nodes.answers(tock_nodes.lease_key(p_lease),
    'select pg_catalog.row_to_json(c)::text from tock.release(p_lease => %1$L, p_ids => %2$L) c',
    array[p_lease::text, p_ids::text])) a (answer)
  cross join lateral pg_catalog.json_to_record(a.answer::json) r (released integer, refused bigint[])
$$;

comment on function tock_nodes.release is 'tock.release() on the node of the lease.';

create or replace function tock_nodes.task(p_id bigint)
returns table (
  id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer,
  lost integer, created_at timestamptz, run_at timestamptz, ended_at timestamptz, payload json, result jsonb,
  error jsonb, options jsonb, progress real, note text, runs jsonb, rerun_of bigint, reruns jsonb,
  schedule text) language sql volatile as $$
  select r.* from unnest(tock_nodes.answers(tock_nodes.task_key(p_id),
    'select pg_catalog.row_to_json(t)::text from tock.task(p_id => %1$L) t', array[p_id::text])) a (answer)
  cross join lateral pg_catalog.json_to_record(a.answer::json) r (id bigint, queue text, state text,
    priority integer, tenant text, attempt integer, max_attempts integer, lost integer,
    created_at timestamptz, run_at timestamptz, ended_at timestamptz, payload json, result jsonb,
    error jsonb, options jsonb, progress real, note text, runs jsonb, rerun_of bigint, reruns jsonb,
    schedule text)
$$;

comment on function tock_nodes.task is 'tock.task() on the node of the task.';

create or replace function tock_nodes.copy_key(p_key jsonb, p_overlap_seconds integer default null)
returns boolean language plpgsql volatile as $$
begin
  return tock.copy_key(p_key, coalesce(p_overlap_seconds, 86400));
end $$;

comment on function tock_nodes.copy_key is
  'tock.copy_key() on the node that runs it: ask() calls it on each node.';
