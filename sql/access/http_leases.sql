create or replace function tock.claim_body(p_queue text, p_runs tock.claimed[], p_ended jsonb)
returns text language plpgsql volatile as $$
declare
  v_run tock.claimed := p_runs[1];
  v_runs text;
  v_state record;
  v_headers jsonb := '{}';
begin
  if v_run.lease is null then
    select s.* into v_state from tock.claim_state(array[p_queue]) s;
    return pg_catalog.format(
      '{"lease":null,"leased_until":null,"tasks":[],"state":"%s","retry_after_seconds":%s%s}',
      v_state.state, v_state.retry_after_seconds, ',"ended":' || p_ended::text);
  end if;
  -- as lease_has_options(), which the role of the HTTP server may not call
  if pg_catalog.substr(v_run.lease::text, 15, 1) = '5' then
    v_headers := tock.lease_headers(v_run.lease);
  end if;
  if pg_catalog.cardinality(p_runs) = 1 and v_headers = '{}' then
    v_runs := pg_catalog.format(
      '[{"id":"%s","run_id":"%s","attempt":%s,"max_attempts":%s,"priority":%s,"tenant":%s,'
      '"created_at":%s,"payload":%s,"headers":null,"push_url":null,"steps":null}]',
      v_run.id, v_run.run_id, v_run.attempt, v_run.max_attempts, v_run.priority,
      coalesce(pg_catalog.to_json(v_run.tenant), 'null'), pg_catalog.to_json(v_run.created_at),
      coalesce(v_run.payload, 'null'));
  else
    v_runs := (
      select pg_catalog.json_agg(r) from (
        select c.id::text as id, c.run_id::text as run_id, c.attempt, c.max_attempts, c.priority, c.tenant,
          c.created_at, c.payload, v_headers -> c.run_id::text -> 'headers' as headers,
          v_headers -> c.run_id::text ->> 'push_url' as push_url,
          v_headers -> c.run_id::text -> 'steps' as steps from unnest(p_runs) c) r);
  end if;
  return pg_catalog.format(
    '{"lease":"%s","leased_until":%s,"tasks":%s,"state":"found","retry_after_seconds":0%s}',
    v_run.lease, pg_catalog.to_json(v_run.leased_until), v_runs, ',"ended":' || p_ended::text);
end $$;

comment on function tock.claim_body is
  'The runs of a claim from one queue as the body of the answer, with what next() ended.';

-- p_again: the call repeats a statement of the same request, so it does not count for the rate of the key.
create or replace function tock.http_claim(
  p_key text, p_queue text, p_worker text, p_limit integer, p_lease_seconds integer, p_request_id text,
  p_ends jsonb, p_again boolean default false)
returns text language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_context text;
  v_own_transaction boolean;
  v_claim record;
begin
  get diagnostics v_context = pg_context;
  v_own_transaction := tock.is_own_transaction(true, v_context);
  perform tock.check_read_committed('claim');
  if tock.allows_simple(p_key, 'claim', p_queue) is not true then
    perform tock.authorize(p_key, 'claim', p_queue, false, p_again);
  end if;
  if p_ends is not null then
    perform tock.authorize_end(p_key, (e.item ->> 'lease')::uuid, e.item -> 'results',
      pg_catalog.format('ends[%s].', e.n - 1), true)
    from pg_catalog.jsonb_array_elements(p_ends) with ordinality e (item, n);
  end if;
  v_claim := tock.end_and_claim(p_queue, p_ends, p_worker, p_limit, p_lease_seconds, p_request_id,
    v_own_transaction);
  return tock.claim_body(p_queue, v_claim.claimed, v_claim.ended);
end $$;

comment on function tock.http_claim is
  'POST /v1/queues/:queue/claim: authorize() and end_and_claim(); returns the body of the answer.';

create or replace function tock.http_claim_any(p_queues text[], p_runs tock.claimed_from[])
returns text language plpgsql volatile as $$
declare
  v_leases json;
  v_state record;
begin
  if pg_catalog.cardinality(p_runs) = 0 then
    select s.* into v_state from tock.claim_state(p_queues) s;
    return pg_catalog.format('{"leases":[],"state":"%s","retry_after_seconds":%s}', v_state.state,
      v_state.retry_after_seconds);
  end if;
  v_leases := (
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'queue', l.queue, 'lease', l.lease, 'leased_until', l.leased_until, 'tasks', l.tasks) order by l.n)
    from (
      select r.queue, r.lease, min(r.leased_until) as leased_until, min(r.n) as n,
        pg_catalog.json_agg(pg_catalog.json_build_object('id', r.id::text, 'run_id', r.run_id::text,
          'attempt', r.attempt, 'max_attempts', r.max_attempts, 'priority', r.priority, 'tenant', r.tenant,
          'created_at', r.created_at, 'payload', r.payload, 'headers', t.told -> r.run_id::text -> 'headers',
          'push_url', t.told -> r.run_id::text ->> 'push_url',
          'steps', t.told -> r.run_id::text -> 'steps') order by r.n) as tasks
      from unnest(p_runs) with ordinality
        r(queue, lease, leased_until, id, run_id, attempt, max_attempts, priority, tenant,
          created_at, payload, n)
      join (
        select d.lease, tock.lease_headers(d.lease) as told
        from (select distinct u.lease from unnest(p_runs) u offset 0) d
        offset 0) t on t.lease = r.lease
      group by r.queue, r.lease) l);
  return '{"leases":' || v_leases || ',"state":"found","retry_after_seconds":0}';
end $$;

comment on function tock.http_claim_any is
  'POST /v1/claim: the rows of claim_any() as the body of the answer.';

-- Raises TK403 if a key may not end runs of a lease, or may not enqueue what its results spawn.
create or replace function tock.authorize_end(
  p_key text, p_lease uuid, p_results jsonb, p_field text, p_again boolean)
returns void language plpgsql volatile as $$
begin
  if not coalesce(tock.allows_simple(p_key, 'claim', '*'), false) then
    perform tock.authorize(p_key, 'claim', tock.queue_of_lease(p_lease), false, p_again);
  end if;
  if pg_catalog.jsonb_path_exists(p_results, '$[*].spawn') then
    perform tock.authorize(p_key, 'enqueue', coalesce(s.spawn ->> 'queue', tock.queue_of_lease(p_lease))),
      tock.authorize_tasks(p_key, s.spawn -> 'tasks',
        pg_catalog.format('%sresults[%s].spawn.tasks', p_field, s.n - 1))
    from (
      select r.item -> 'spawn' as spawn, r.n
      from pg_catalog.jsonb_path_query(p_results, '$[*]') with ordinality r (item, n)) s
    where s.spawn <> 'null';
  end if;
end $$;

create or replace function tock.http_complete(p_key text, p_lease uuid, p_body jsonb)
returns text language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_done integer;
begin
  perform tock.authorize_end(p_key, p_lease, p_body -> 'results', '', false);
  if p_body -> 'results' is null then
    v_done := tock.end_lease_current(p_lease, tock.token_segment(p_lease));
    if v_done > 0 then
      return '{"completed":' || v_done || ',"refused":[]}';
    end if;
  end if;
  return (
    select '{"completed":' || c.completed || ',"refused":' || pg_catalog.to_json(c.refused::text[]) || '}'
    from tock.complete(p_lease, p_body -> 'results') c);
end $$;

comment on function tock.http_complete is
  'POST /v1/leases/:lease/complete: authorize() and complete(); returns the body of the answer, null if the '
  'lease has ended.';
