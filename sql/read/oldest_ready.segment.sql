-- The number of cancelled or replaced runs of the segment above the cursor of a stream, and since when the
-- first run is ready. The oldest run has been ready since it was created, since its last due time, or since
-- the end of the run before it.
create or replace function tock.oldest_ready_{segment}(p_stream integer, p_cursor bigint)
returns table (marked bigint, oldest timestamptz) language sql stable as $$
  select (
      select count(distinct m.position) from tock.run_overrides_{segment} m
      where m.stream = p_stream and m.position > p_cursor and m.kind in ('cancelled', 'superseded')),
    (select coalesce(case
        when r.task_id is null then r.created_at
        when r.attempt = 1 and r.lost = 0 and tock.stream_of(r.task_id) = 0 then (
          select case when p.due_at > '-infinity' then p.due_at else p.promoted_at end
          from tock.promotions p where p.position = tock.position_of(r.task_id))
        else coalesce((
            select max(case when p.due_at > '-infinity' then p.due_at else p.promoted_at end)
            from tock.promotions p where p.run_id = tock.id_at(r.position, r.stream)),
          tock.ready_since(r.stream, r.position, r.task_id)) end,
        r.created_at)
     from (
       select r.* from tock.runs_{segment} r where r.stream = p_stream and r.position > p_cursor
       order by r.stream, r.position limit 1) r)
  offset 0
$$;
