create or replace function tock.tasks(p_filter jsonb, p_cursor text default null, p_limit integer default 100)
returns table (tasks jsonb, cursor text, looked_at integer)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_state text := coalesce(p_filter ->> 'state', case when p_filter ->> 'error' is not null then 'dead' end);
  v_page tock.page;
begin
  perform tock.check_filter(p_filter, array['waiting', 'ready', 'running', 'done', 'dead', 'cancelled', 'expired'], p_limit, 1000,
    array['queue', 'state', 'tenant', 'error', 'rerun']);
  perform tock.check_queue_name(p_filter ->> 'queue');
  v_page := tock.select_tasks(p_filter ->> 'queue', v_state, p_filter ->> 'tenant', p_filter ->> 'error',
    coalesce((p_filter ->> 'rerun')::boolean, case when v_state = 'dead' then false end), null, p_cursor, p_limit);
  return query
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', t.id::text, 'run_id', t.run_id::text,
        'queue', p_filter ->> 'queue', 'state', t.state, 'priority', t.priority, 'tenant', t.tenant, 'attempt', t.attempt,
        'created_at', t.created_at, 'run_at', t.run_at, 'ended_at', t.ended_at, 'worker', t.worker, 'error', t.error,
        'rerun', t.rerun) order by t.n), '[]'), v_page.cursor, v_page.looked_at
    from unnest(v_page.tasks) with ordinality t (id, run_id, state, priority, tenant, attempt, created_at, run_at, ended_at,
      worker, error, rerun, n);
end $$;

comment on function tock.tasks is
  'One row: the tasks of a queue ({queue, state, tenant, error, rerun}) without their payloads, the cursor to go on with (null at the end), and how many rows were looked at for it, 10,000 a call at most. Waiting, ready, running and dead ones are found by an index; the others, and tenants, by looking at all that could be. Dead ones that have been run again are listed with rerun true only.';

create or replace function tock.check_filter(p_filter jsonb, p_states text[], p_limit integer, p_most integer, p_names text[])
returns void
language plpgsql
stable
as $$
declare
  v_other text;
begin
  if pg_catalog.jsonb_typeof(p_filter) is distinct from 'object' then
    perform tock.refuse(422, 'a filter is an object of ' || pg_catalog.array_to_string(p_names, ', '), 'filter');
  end if;
  select k into v_other from pg_catalog.jsonb_each(p_filter) f (k, v)
  where f.k <> all (p_names) or case f.k
    when 'rerun' then pg_catalog.jsonb_typeof(f.v) not in ('boolean', 'null')
    else pg_catalog.jsonb_typeof(f.v) not in ('string', 'null') end
  limit 1;
  if found then
    perform tock.refuse(422, 'a filter has ' || pg_catalog.array_to_string(p_names, ', ')
      || case when 'rerun' = any (p_names) then ': strings, but for rerun' else ': strings' end, v_other);
  elsif p_filter ->> 'state' <> all (p_states) then
    perform tock.refuse(422, 'state is ' || pg_catalog.array_to_string(p_states, ' or '), 'state');
  elsif p_limit is null or p_limit not between 1 and p_most then
    perform tock.refuse(422, 'limit is a whole number from 1 to ' || p_most, 'limit');
  elsif p_filter ->> 'error' is not null and coalesce(p_filter ->> 'state', 'dead') <> 'dead' then
    perform tock.refuse(422, 'only dead tasks have an error to look for', 'error', 'leave out state, or make it dead');
  end if;
end $$;

comment on function tock.check_filter is 'Raises TK422 for a filter or limit that can''t be.';
