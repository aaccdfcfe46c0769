-- The statement's own snapshot checks that neither the newest lease nor start_after is above the cursor.
-- Since the cursor was read, another claim may have leased, or the stream may have been at rest. The snapshot
-- also checks that no run in the range has an override.
create or replace function tock.lease_range_{suffix}(p_range tock.claim_range)
returns setof tock.claimed language plpgsql volatile as $$
begin
  if p_range.segment <> {segment} then
    return;
  end if;
  return query
    with picked as materialized (
      select n.* from (
        select r.*, sum(r.cost) over (order by r.position) as upto
        from (
          select r.position, r.task_id, r.attempt, r.max_attempts, r.tenant, r.created_at, r.payload,
            r.bytes + 128 + 4 * coalesce(octet_length(r.tenant), 0) as cost
          from tock.runs_{segment} r where r.stream = p_range.stream and r.position > p_range.after_position
            and (select s.start_after from tock.streams s where s.number = p_range.stream)
              <= p_range.after_position
            and coalesce((
              select l.last_position from tock.leases_{segment} l where l.stream = p_range.stream
              order by l.stream desc, l.after_position desc limit 1), 0) <= p_range.after_position
            and ((select m.position from tock.run_overrides_{segment} m
                where m.stream = p_range.stream and m.position > p_range.after_position
                order by m.stream, m.position limit 1) is null
              or p_range.most = (
                select count(*) from (
                  select from tock.runs_{segment} b
                  where b.stream = p_range.stream and b.position > p_range.after_position
                    and b.position < (
                      select m.position from tock.run_overrides_{segment} m
                      where m.stream = p_range.stream and m.position > p_range.after_position
                      order by m.stream, m.position limit 1)
                  order by b.stream, b.position limit p_range.most) b))
          order by r.stream, r.position limit p_range.most) r) n
      where n.upto <= p_range.bytes or (p_range.one and n.upto = n.cost)
    ), leased as (
      insert into tock.leases_{segment} (
        stream, after_position, last_position, runs, token, worker, leased_until)
      select p_range.stream, p_range.after_position, p.last_position, p.runs, p_range.token, p_range.worker,
        p_range.leased_until
      from (select max(p.position) as last_position, count(*) as runs from picked p) p
      where p.runs > 0
    )
    select p_range.token, p_range.leased_until, coalesce(p.task_id, tock.id_at(p.position, p_range.stream)),
      tock.id_at(p.position, p_range.stream), p.attempt::integer,
      coalesce(p.max_attempts, p_range.max_attempts)::integer, p_range.priority::integer, p.tenant,
      p.created_at, p.payload
    from picked p;
end $$;

comment on function tock.lease_range_{suffix} is
  'Leases the runs above the cursor of a stream in one segment and returns them in order; no rows for '
  'another segment.';
