-- What is stored of the runs and waiting tasks with these ids: the id of the task (null for its first run),
-- the bytes and the options. Unknown ids are left out.
create or replace function tock.stored_runs(
  p_ids bigint[], out id bigint, out task_id bigint, out bytes integer, out options jsonb)
returns setof record language plpgsql stable rows 1000 as $$
declare
  v_segment integer;
begin
  return query
    select tock.id_at(w.position, 0), w.task_id, w.bytes, w.options from tock.waiting w
    where w.position = any (array(select tock.position_of(i) from unnest(p_ids) i
      where tock.stream_of(i) = 0));
  for v_segment in
    select distinct tock.segment_of(tock.position_of(i)) from unnest(p_ids) i where tock.stream_of(i) <> 0
  loop
    continue when v_segment is null;
    return query execute pg_catalog.format($q$
      select i, r.task_id, r.bytes, r.options from unnest($1) i
      cross join lateral (
        select r.task_id, r.bytes, r.options from tock.runs_%s r
        where r.stream = tock.stream_of(i) and r.position = tock.position_of(i) offset 0) r$q$, v_segment)
      using p_ids;
  end loop;
end $$;
