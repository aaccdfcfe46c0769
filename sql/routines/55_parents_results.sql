-- A payload that grows beyond what its queue takes has its parents' results left out: parents() has them.
create or replace function tock.gather(p_children bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_child bigint;
  v_row tock.waiting;
  v_parents jsonb;
  v_ids bigint[];
  v_fits boolean;
  v_max integer;
begin
  foreach v_child in array p_children loop
    v_row := (select w from tock.waiting w where w.position = v_child);
    v_max := (tock.policy(v_row.queue)).max_payload_bytes;
    v_ids := array(
      select a.id::bigint from pg_catalog.jsonb_array_elements_text(v_row.options -> 'after') with ordinality a (id, n)
      order by a.n);
    v_fits := tock.results_fit(v_ids, v_max - v_row.bytes - 100 * pg_catalog.cardinality(v_ids));
    v_parents := (
      select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('id', r.id::text,
        'name', v_row.options -> 'names' ->> r.id::text, 'state', r.state))
        || case when v_fits then pg_catalog.jsonb_build_object('result', r.result) else '{}' end order by r.n), '[]')
      from tock.results_of(v_ids, v_fits) r);
    update tock.waiting w set options = w.options || '{"gathered": true}', payload = g.payload, bytes = pg_catalog.octet_length(g.payload::text)
    from (
      select case when v_row.options ? 'resume' then v_row.payload || pg_catalog.jsonb_build_object('children', v_parents)
        else pg_catalog.jsonb_build_object('payload', v_row.payload, 'parents', v_parents) end as payload) g
    where w.position = v_child;
  end loop;
end $$;

comment on function tock.gather is 'Gives children their parents'' ids, names, states and results: {payload, parents}; a task that has waited for what it spawned {payload, result, children}.';

create or replace function tock.parents(p_id bigint, p_limit integer default 1000, p_after integer default 0)
returns table (n integer, id bigint, name text, state text, result jsonb)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_options jsonb;
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform tock.refuse(422, 'limit is a whole number from 1 to 10000', 'limit');
  elsif p_after is null or p_after < 0 then
    perform tock.refuse(422, 'after is a whole number from 0: the n of the last one of the call before', 'after');
  end if;
  select t.options into v_options from tock.task(p_id) t;
  return query
    select (p_after + r.n)::integer, r.id, v_options -> 'names' ->> r.id::text, r.state, r.result
    from tock.results_of(array(
      select a.id::bigint from pg_catalog.jsonb_array_elements_text(v_options -> 'after') with ordinality a (id, n)
      where a.n > p_after and a.n <= p_after::bigint + p_limit order by a.n), true) r
    order by r.n;
end $$;

comment on function tock.parents is
  'The tasks that a task comes after, in their order, from the p_after-th on: each one''s state and result (of one that was run again, that one''s); gone where its history is.';

-- Sizes as they are stored first, which costs nothing: no more than fits is ever unpacked.
create or replace function tock.results_fit(p_ids bigint[], p_bytes bigint)
returns boolean
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_ends bigint[] := array(select w.current_id from tock.whereabouts(p_ids) w where w.state = 'done');
  v_epoch integer;
  v_size text;
  v_part bigint;
  v_sum bigint;
begin
  foreach v_size in array array['pg_catalog.pg_column_size(r.result)', 'pg_catalog.octet_length(r.result::text)'] loop
    v_sum := 0;
    for v_epoch in select distinct tock.epoch_of(e >> 20) from unnest(v_ends) e loop
      execute pg_catalog.format($q$
        select coalesce(sum(%1$s), 0) from unnest($1) e
        cross join lateral (
          select r.result from tock.results_%2$s r
          where r.stream = (e & 1048575)::integer and r.position = e >> 20 offset 0) r$q$, v_size, v_epoch)
        into v_part using v_ends;
      v_sum := v_sum + v_part;
    end loop;
    if v_sum > p_bytes then
      return false;
    end if;
  end loop;
  return true;
end $$;

comment on function tock.results_fit is 'Whether the results of these tasks are up to so many bytes of JSON.';

create or replace function tock.results_of(p_ids bigint[], p_results boolean, out n bigint, out id bigint, out state text, out result jsonb)
returns setof record
language plpgsql
volatile
rows 1000
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_ends tock.whereabout[] := array(
    select row(i.n, e.id, e.current_id, e.state, null)::tock.whereabout
    from unnest(p_ids) with ordinality i (id, n) join tock.ends_of(p_ids, null) e on e.id = i.id);
  v_epoch integer;
begin
  for v_epoch in select distinct tock.epoch_of(e.current_id >> 20) from unnest(v_ends) e where e.state = 'done' loop
    return query execute pg_catalog.format($q$
      select e.n, e.task_id, e.state, r.result
      from unnest($1) e
      left join lateral (
        select case when $2 then r.result end as result from tock.results_%1$s r
        where r.stream = (e.current_id & 1048575)::integer and r.position = e.current_id >> 20 offset 0) r on true
      where e.state = 'done' and tock.epoch_of(e.current_id >> 20) = %1$s$q$, v_epoch) using v_ends, p_results;
  end loop;
  return query select e.n, e.task_id, e.state, null::jsonb from unnest(v_ends) e where e.state <> 'done';
  return query
    select i.n, i.id, 'gone', null::jsonb from unnest(p_ids) with ordinality i (id, n)
    where i.n not in (select e.n from unnest(v_ends) e);
end $$;

comment on function tock.results_of is 'How tasks ended and with which results, n in their order: of one that was run again, how that did.';
