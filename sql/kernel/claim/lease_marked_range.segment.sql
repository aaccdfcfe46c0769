-- As lease_range(), for runs among which some are passed over (p_skips), and up to a position.
create or replace function tock.lease_marked_range_{suffix}(
  p_epoch integer, p_stream integer, p_after bigint, p_limit integer, p_token uuid, p_worker text, p_until timestamptz,
  p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint, p_skips bigint[], p_upto bigint)
returns setof tock.claimed
language plpgsql
volatile
as $$
begin
  if p_epoch <> {segment} then
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
          from tock.runs_{segment} r where r.stream = p_stream and r.position > p_after
            and (select s.start_after from tock.streams s where s.number = p_stream) <= p_after
            and coalesce((
              select l.last_position from tock.leases_{segment} l where l.stream = p_stream
              order by l.stream desc, l.after_position desc limit 1), 0) <= p_after
            and r.position <> all (p_skips) and r.position <= p_upto
          order by r.stream, r.position limit p_limit) r) n
      where n.upto <= p_bytes or (p_one and n.upto = n.cost)
    ), leased as (
      insert into tock.leases_{segment} (stream, after_position, last_position, runs, token, worker, leased_until, skipped,
        skips, timeout_at)
      select p_stream, p_after, p.last_position, p.runs, p_token, p_worker, p_until,
        (select count(*) from unnest(p_skips) k where k <= p.last_position),
        nullif(array(select k from unnest(p_skips) k where k <= p.last_position), '{}'),
        pg_catalog.clock_timestamp() + p.timeout_seconds * interval '1 second'
      from (
        select max(p.position) as last_position, count(*) as runs, max(p.timeout_seconds) as timeout_seconds
        from picked p) p
      where p.runs > 0
    )
    select p_token, p_until, coalesce(p.task_id, p.position << 20 | p_stream), p.position << 20 | p_stream,
      p.attempt::integer, coalesce(p.max_attempts, p_max_attempts)::integer, p_priority::integer, p.tenant, p.created_at,
      p.payload
    from picked p;
end $$;

comment on function tock.lease_marked_range_{suffix} is
  'Leases what lies above a stream''s cursor in one segment, past what is marked, and returns it; nothing when another segment is meant.';
