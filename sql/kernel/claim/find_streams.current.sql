-- Streams with runs to claim, with their cursors, and whether a waiting task is due; null if another segment
-- is current. The streams of a queue in the order in which a claim tries them, each with its cursor: priority
-- first, lanes and slots shuffled by the seed. Bulk tasks of one tenant (lanes from 512) come after the
-- others, and before them in one claim of 24. A stream whose start_after lies before this segment is listed
-- without a cursor, whether it has runs or not: the claim finds out. Any other stream is listed if it has an
-- unclaimed run. Streams of runs with options (lanes from 1024) never come with a cursor. The fences of
-- offset 0 keep the look-ups behind the order, so that they stop at the limit. The function takes no locks.
create or replace function tock.find_streams(
  p_queue text, p_seed integer, p_seen integer[], p_limit integer, p_late boolean)
returns tock.stream_scan language plpgsql volatile as $$
begin
  return (
    select case when {is_current} then row({segment},
      p_late and (
        select w.due_at from tock.waiting w
        where w.lost >= 0 and w.due_at <= pg_catalog.now() and w.due_at >= coalesce(
          (select p.due_at from tock.promotions p order by p.due_at desc limit 1), '-infinity')
        order by w.due_at limit 1) is not null,
      array(
        select row(s.number, s.priority, case when s.lane < 1024 then c.after_position end)::tock.candidate
        from (
          select t.number, t.priority, t.start_after, t.lane from tock.streams t
          where t.queue = p_queue and t.awake and t.number <> all (p_seen)
          order by t.priority, (t.lane & 512 <> 0) = (p_seed % 24 <> 0),
            pg_catalog.hashint4extended(t.lane, p_seed), pg_catalog.hashint4extended(t.slot, p_seed)
          offset 0) s
        cross join lateral (
          select case when s.start_after >= {first_position} - 1 then greatest(s.start_after, coalesce((
            select l.last_position from tock.leases_{segment} l where l.stream = s.number
            order by l.stream desc, l.after_position desc limit 1), 0)) end as after_position offset 0) c
        where c.after_position is null
          or (select r.position from tock.runs_{segment} r
              where r.stream = s.number and r.position > c.after_position
              order by r.stream, r.position limit 1) is not null
        limit p_limit))::tock.stream_scan end
    from tock.positions s);
end $$;
