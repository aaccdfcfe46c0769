-- Stores in promotions which runs the runs of the segment became; returns the number of rows that it scanned.
-- A task may continue, and callers may ask for it, long after the segment of one of its runs was dropped. So
-- tock.promotions maps the old run to its successor, as it does for a waiting task. The function reads rows
-- in the order of the key. It stores its progress in verify_stream and verify_position, which are free after
-- the verification.
create or replace function tock.redirect_run_ids_{segment}(p_limit integer)
returns integer language plpgsql volatile
set plan_cache_mode = force_custom_plan as $$
declare
  v_at tock.segments := (select e from tock.segments e where e.number = {segment});
  v_stream integer := coalesce(v_at.verify_stream, 0);
  v_position bigint := coalesce(v_at.verify_position, 0);
  v_seen integer;
begin
  with seen as materialized (
    select s.* from (
      (select e.stream, e.position, e.next_id is not null as goes_on from tock.results_{segment} e
       where (e.stream, e.position) > (v_stream, v_position) order by e.stream, e.position limit p_limit)
      union all
      (select m.stream, m.position, true from tock.run_overrides_{segment} m
       where (m.stream, m.position) > (v_stream, v_position) and m.kind = 'superseded'
       order by m.stream, m.position limit p_limit)) s
    order by s.stream, s.position fetch first (p_limit) rows with ties
  ), sent_on as (
    insert into tock.promotions (position, run_id, due_at)
    select r.position, coalesce(n.run_id, d.next_id), '-infinity'
    from (select distinct s.stream, s.position from seen s where s.goes_on) s
    join tock.runs_{segment} r using (stream, position)
    cross join lateral tock.run_state_{segment}(r.stream, r.position, r.options) d
    left join tock.promotions n on n.position = any (array[tock.position_of(d.next_id)])
    -- a segment may be kept for long, and the successor lies in a later one that was dropped before it
    where n.position is not null or tock.segment_of(tock.position_of(d.next_id)) is not null
      or exists (select from tock.waiting w where w.position = tock.position_of(d.next_id))
    on conflict do nothing
  ), last as (
    select s.stream, s.position from seen s order by s.stream desc, s.position desc limit 1)
  select (select count(*) from seen), (select l.stream from last l), (select l.position from last l)
    into v_seen, v_at.verify_stream, v_at.verify_position;
  if v_seen > 0 then
    update tock.segments e set verify_stream = v_at.verify_stream, verify_position = v_at.verify_position
    where e.number = {segment};
  end if;
  return v_seen;
end $$;
