create or replace function tock.parents(
  p_id bigint, p_limit integer default 1000, p_after integer default 0, p_state text default null,
  p_results boolean default true)
returns table (n integer, id bigint, name text, state text, result jsonb) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_options jsonb;
  v_names jsonb;
  v_ids bigint[];
  v_places integer[];  -- in depends_on
  v_ends tock.resolved_task[];
begin
  perform tock.check_range(p_limit, 1, 10000, 'limit');
  if p_after is null or p_after < 0 then
    perform tock.refuse(422, 'after must be a whole number, 0 or higher', 'after',
      'for the next page, set after to the last n of the previous page');
  elsif p_state not in ('ready', 'running', 'waiting', 'done', 'dead', 'cancelled', 'expired', 'gone') then
    perform tock.refuse(422, 'p_state must be the state of a task, or gone', 'p_state');
  end if;
  select t.options into v_options from tock.task(p_id) t;
  v_names := v_options -> 'names';
  select pg_catalog.array_agg(a.id order by a.n), pg_catalog.array_agg(a.n order by a.n)
  into v_ids, v_places
  from (
    select a.id::bigint as id, a.n::integer as n
    from pg_catalog.jsonb_array_elements_text(v_options -> 'depends_on') with ordinality a (id, n)
    where a.n > p_after order by a.n limit case when p_state is null then p_limit end) a;
  v_ends := tock.final_states_in_order(v_ids);
  if p_state is not null then
    select pg_catalog.array_agg(i.id order by i.n), pg_catalog.array_agg(v_places[i.n] order by i.n)
    into v_ids, v_places
    from (
      select i.id, i.n from unnest(v_ids) with ordinality i (id, n) left join unnest(v_ends) e on e.n = i.n
      where coalesce(e.state, 'gone') = p_state order by i.n limit p_limit) i;
    v_ends := tock.final_states_in_order(v_ids);
  end if;
  return query
    select v_places[r.n], r.id, v_names ->> r.id::text, r.state, r.result
    from tock.results_of(v_ids, v_ends, p_results) r
    order by r.n;
end $$;

comment on function tock.parents is
  'The parents of a task in order, after the p_after-th, each with its state and result (those of its last '
  'rerun if it was run again). The state is gone if its history was dropped. p_state: only those in this '
  'state. p_results false leaves out the results.';
