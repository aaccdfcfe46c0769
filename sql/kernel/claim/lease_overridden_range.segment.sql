-- Leases the runs above the cursor of a stream in one segment without the skipped ones, and returns them; no
-- rows for another segment. Like lease_range(), for a range with skipped runs or runs with a time limit.
create or replace function tock.lease_overridden_range_{suffix}(
  p_range tock.claim_range, p_passed tock.passed)
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
            r.bytes + 128 + 4 * coalesce(octet_length(r.tenant), 0) as cost,
            (r.options ->> 'timeout_seconds')::integer as timeout_seconds
          from tock.runs_{segment} r where r.stream = p_range.stream and r.position > p_passed.after_position
            and p_passed.after_position >=
              (select s.start_after from tock.streams s where s.number = p_range.stream)
            and coalesce((
              select l.last_position from tock.leases_{segment} l where l.stream = p_range.stream
              order by l.stream desc, l.after_position desc limit 1), 0) <= p_passed.after_position
            and r.position <> all (p_passed.skips) and r.position <= p_passed.upto
          order by r.stream, r.position limit p_range.most) r) n
      where n.upto <= p_range.bytes or (p_range.one and n.upto = n.cost)
    ), leased as (
      insert into tock.leases_{segment} (
        stream, after_position, last_position, runs, token, worker, leased_until, skipped, skips, timeout_at)
      select p_range.stream, p_passed.after_position, p.last_position, p.runs, p_range.token, p_range.worker,
        p_range.leased_until,
        (select count(*) from unnest(p_passed.skips) k where k <= p.last_position),
        nullif(array(select k from unnest(p_passed.skips) k where k <= p.last_position), '{}'),
        pg_catalog.clock_timestamp() + p.timeout_seconds * interval '1 second'
      from (
        select max(p.position) as last_position, count(*) as runs, max(p.timeout_seconds) as timeout_seconds
        from picked p) p
      where p.runs > 0
    )
    select p_range.token, p_range.leased_until, coalesce(p.task_id, tock.id_at(p.position, p_range.stream)),
      tock.id_at(p.position, p_range.stream), p.attempt::integer,
      coalesce(p.max_attempts, p_range.max_attempts)::integer, p_range.priority::integer, p.tenant,
      p.created_at, p.payload
    from picked p;
end $$;
