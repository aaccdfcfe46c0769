-- Leases the runs above the cursor of a stream in one segment and returns them in order; no rows for another
-- segment. The statement's own snapshot checks that neither the newest lease nor start_after is above the
-- cursor. Since the cursor was read, another claim may have leased, or the stream may have been at rest. The
-- snapshot also checks that no run in the range has an override.
create or replace function tock.lease_range_{suffix}(p_range tock.claim_range)
returns setof tock.claimed language plpgsql volatile as $$
declare
  -- a field of a composite is read more slowly, for each row
  v_stream integer := p_range.stream;
  v_after bigint := p_range.after_position;
  v_bytes integer := p_range.bytes;
  v_one boolean := p_range.one;
  v_token uuid := p_range.token;
  v_until timestamptz := p_range.leased_until;
  v_max_attempts integer := p_range.max_attempts;
  v_priority integer := p_range.priority;
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
          from tock.runs_{segment} r where r.stream = v_stream and r.position > v_after
            and (select s.start_after from tock.streams s where s.number = v_stream) <= v_after
            and coalesce((
              select l.last_position from tock.leases_{segment} l where l.stream = v_stream
              order by l.stream desc, l.after_position desc limit 1), 0) <= v_after
            and ((select m.position from tock.run_overrides_{segment} m
                where m.stream = v_stream and m.position > v_after
                order by m.stream, m.position limit 1) is null
              or p_range.most = (
                select count(*) from (
                  select from tock.runs_{segment} b
                  where b.stream = v_stream and b.position > v_after
                    and b.position < (
                      select m.position from tock.run_overrides_{segment} m
                      where m.stream = v_stream and m.position > v_after
                      order by m.stream, m.position limit 1)
                  order by b.stream, b.position limit p_range.most) b))
          order by r.stream, r.position limit p_range.most) r) n
      where n.upto <= v_bytes or (v_one and n.upto = n.cost)
    ), leased as (
      insert into tock.leases_{segment} (
        stream, after_position, last_position, runs, token, worker, leased_until)
      select v_stream, v_after, p.last_position, p.runs, v_token, p_range.worker, v_until
      from (select max(p.position) as last_position, count(*) as runs from picked p) p
      where p.runs > 0
    )
    select v_token, v_until, coalesce(p.task_id, tock.id_at(p.position, v_stream)),
      tock.id_at(p.position, v_stream), p.attempt::integer, coalesce(p.max_attempts, v_max_attempts),
      v_priority, p.tenant, p.created_at, p.payload
    from picked p;
end $$;
