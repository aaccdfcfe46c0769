-- A replacement that came too late is no part of its task. What is asked here is asked after the listing, so what has gone
-- on meanwhile is one of its task's runs, if no more the newest.
create or replace function tock.without_late(p_tasks jsonb)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_asked bigint[] := array(
    select (case when (x.task ->> 'run_id')::bigint & 1048575 = 0 then x.task ->> 'id' else x.task ->> 'run_id' end)::bigint
    from pg_catalog.jsonb_array_elements(p_tasks) x (task)
    where (x.task ->> 'replaces')::boolean and x.task ->> 'state' in ('ready', 'waiting', 'cancelled', 'expired'));
  v_late bigint[];
begin
  if pg_catalog.cardinality(v_asked) > 0 then
    v_late := array(
      with asked as materialized (
        select (x.task ->> 'run_id')::bigint as run_id, (x.task ->> 'id')::bigint as id from pg_catalog.jsonb_array_elements(p_tasks) x (task)
        where (x.task ->> 'replaces')::boolean and x.task ->> 'state' in ('ready', 'waiting', 'cancelled', 'expired')
      ), here as materialized (select w.current_id from tock.whereabouts(v_asked) w)
      select a.run_id from asked a
      where a.run_id not in (select h.current_id from here h) and not exists (
        select from tock.task(a.id) t
        where t.runs @> pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('id', coalesce(
          (select p.run_id from tock.promotions p where p.position = a.run_id >> 20 and a.run_id & 1048575 = 0), a.run_id)::text))));
  end if;
  return (
    select coalesce(pg_catalog.jsonb_agg(x.task - 'at' - 'replaces' order by x.n), '[]')
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality x (task, n)
    where (x.task ->> 'run_id')::bigint <> all (coalesce(v_late, '{}')));
end $$;

comment on function tock.without_late is 'A page without replacements that came too late.';
