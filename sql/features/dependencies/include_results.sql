-- Adds the ids, names, states and results of parents to the payloads of children: {payload, parents}; for a
-- task that has waited for spawned tasks {payload, result, children}. If the results would make the payload
-- too large for its queue, they are left out; parents() returns them. Ids and states are always included.
create or replace function tock.include_results(p_children bigint[])
returns void language plpgsql volatile as $$
declare
  v_child bigint;
  v_row tock.waiting;
  v_ids bigint[];
  v_ends tock.resolved_task[];
  v_max integer;
  v_fits boolean;
  v_payload json;
begin
  foreach v_child in array p_children loop
    v_row := (select w from tock.waiting w where w.position = v_child);
    v_max := (tock.policy(v_row.queue)).max_payload_bytes;
    v_ids := array(
      select a.id::bigint from pg_catalog.jsonb_array_elements_text(
        v_row.options -> 'depends_on') with ordinality a (id, n)
      order by a.n);
    v_ends := tock.final_states_in_order(v_ids);
    v_fits := tock.results_fit(v_ends, v_max - v_row.bytes);
    v_payload := tock.payload_with_results(v_row, v_ids, v_ends, v_fits);
    if v_fits and pg_catalog.octet_length(v_payload::text) > v_max then
      v_payload := tock.payload_with_results(v_row, v_ids, v_ends, false);
    end if;
    update tock.waiting w set options = w.options || '{"gathered": true}', payload = v_payload,
      bytes = pg_catalog.octet_length(v_payload::text)
    where w.position = v_child;
  end loop;
end $$;

-- The payload of a waiting task with the data of its parents or children, built from its parts.
create or replace function tock.payload_with_results(
  p_row tock.waiting, p_ids bigint[], p_ends tock.resolved_task[], p_results boolean)
returns json language plpgsql volatile as $$
declare
  -- read once, as it may have ten thousand names
  v_names jsonb := p_row.options -> 'names';
  v_parents jsonb := (
    select coalesce(pg_catalog.jsonb_agg(
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('id', r.id::text,
      'name', v_names ->> r.id::text, 'state', r.state))
      || case when p_results then pg_catalog.jsonb_build_object('result', r.result) else '{}' end
        order by r.n), '[]')
    from tock.results_of(p_ids, p_ends, p_results) r);
begin
  return case when p_row.options ? 'resume'
    then pg_catalog.json_build_object('children', v_parents, 'result', p_row.payload -> 'result',
      'payload', tock.own_payload(p_row.payload, p_row.options))
    else pg_catalog.json_build_object('parents', v_parents, 'payload', p_row.payload) end;
end $$;

-- True if the results of these tasks have at most p_bytes of JSON. The first round adds up stored sizes,
-- which needs no decompression. If they exceed a bound, the second round, which unpacks the values, does not
-- run. The bound is 8 bytes for each byte allowed plus 24 for each result: small values are larger stored
-- than as text. A digit alone takes 20 bytes, in an array 12.
create or replace function tock.results_fit(p_ends tock.resolved_task[], p_bytes bigint)
returns boolean language plpgsql volatile as $$
declare
  v_ends bigint[] := array(select e.current_id from unnest(p_ends) e where e.state = 'done');
  v_segment integer;
  v_size text;
  v_most bigint := 8 * p_bytes + 24 * pg_catalog.cardinality(v_ends);
  v_part bigint;
  v_sum bigint;
begin
  foreach v_size in array array['pg_catalog.pg_column_size(r.result)',
    'pg_catalog.octet_length(r.result::text)'] loop
    v_sum := 0;
    for v_segment in select distinct tock.segment_of(tock.position_of(e)) from unnest(v_ends) e loop
      execute pg_catalog.format($q$
        select coalesce(sum(%1$s), 0) from unnest($1) e
        cross join lateral (
          select r.result from tock.results_%2$s r
          where r.stream = tock.stream_of(e) and r.position = tock.position_of(e) offset 0) r$q$,
          v_size, v_segment)
        into v_part using v_ends;
      v_sum := v_sum + v_part;
    end loop;
    if v_sum > v_most then
      return false;
    end if;
    v_most := p_bytes;
  end loop;
  return true;
end $$;

-- The final states and results of tasks, with n in their order; for a task that was run again, those of its
-- last rerun.
create or replace function tock.results_of(
  p_ids bigint[], p_ends tock.resolved_task[], p_results boolean, out n bigint, out id bigint, out state text,
  out result jsonb)
returns setof record language plpgsql volatile rows 1000 as $$
declare
  v_segment integer;
begin
  for v_segment in
    select distinct tock.segment_of(tock.position_of(e.current_id)) from unnest(p_ends) e
    where e.state = 'done'
  loop
    return query execute pg_catalog.format($q$
      select e.n, e.task_id, e.state, r.result
      from unnest($1) e
      left join lateral (
        select case when $2 then r.result end as result from tock.results_%1$s r
        where r.stream = tock.stream_of(e.current_id)
          and r.position = tock.position_of(e.current_id) offset 0) r
        on true
      where e.state = 'done' and tock.segment_of(tock.position_of(e.current_id)) = %1$s$q$, v_segment)
    using p_ends, p_results;
  end loop;
  return query select e.n, e.task_id, e.state, null::jsonb from unnest(p_ends) e where e.state <> 'done';
  return query
    select i.n, i.id, 'gone', null::jsonb from unnest(p_ids) with ordinality i (id, n)
    where i.n not in (select e.n from unnest(p_ends) e);
end $$;
