create or replace function tock.parents(p_id bigint, p_limit integer default 1000, p_after integer default 0)
returns table (n integer, id bigint, name text, state text, result jsonb) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off as $$
declare
  v_options jsonb;
  v_names jsonb;
  v_ids bigint[];
begin
  if p_limit is null or p_limit not between 1 and 10000 then
    perform tock.refuse(422, 'limit must be a whole number from 1 to 10000', 'limit');
  elsif p_after is null or p_after < 0 then
    perform tock.refuse(422, 'after must be a whole number, 0 or higher', 'after',
      'for the next page, set after to the last n of the previous page');
  end if;
  select t.options into v_options from tock.task(p_id) t;
  v_names := v_options -> 'names';
  v_ids := array(
    select a.id::bigint from pg_catalog.jsonb_array_elements_text(
      v_options -> 'depends_on') with ordinality a (id, n)
    where a.n > p_after and a.n <= p_after::bigint + p_limit order by a.n);
  return query
    select (p_after + r.n)::integer, r.id, v_names ->> r.id::text, r.state, r.result
    from tock.results_of(v_ids, tock.final_states_in_order(v_ids), true) r
    order by r.n;
end $$;

comment on function tock.parents is
  'The parents of a task in order, after the p_after-th, each with its state and result (those of its last '
  'rerun if it was run again); the state is gone if its history was dropped.';
