-- The state of a run of the segment with its result and its lease; a skipped run has no lease. The state of a
-- run comes from its result, else from the lease that covers it, else from its run override. Otherwise the
-- run is ready, or expired. A purge covers runs with a lease of outcome purged: such a run is cancelled or
-- expired, unless an override says otherwise. A task continues with the run that next_id of the result names,
-- or with the replacement of a superseded run. PostgreSQL inlines this function into the statement that joins
-- it.
create or replace function tock.run_state_{segment}(p_stream integer, p_position bigint, p_options jsonb)
returns table (
  state text, next_id bigint, ended_at timestamptz, cancel_requested boolean, result jsonb, error jsonb,
  worker text, claimed_at timestamptz, leased_until timestamptz, lease_after bigint) language sql
stable as $$
  select coalesce(e.state, l.outcome,
      case when l.stream is not null then 'running' when n.other_id > 0 then 'superseded'
        when c.stream is not null then 'cancelled'
        when o.outcome = 'purged' then case when x.expires_at <= o.closed_at then 'expired'
        else 'cancelled' end
        when x.expires_at <= pg_catalog.clock_timestamp() then 'expired' else 'ready' end),
    case when l.stream is null and n.other_id > 0 then n.other_id else e.next_id end,
    coalesce(e.ended_at, l.closed_at, case when l.stream is null then coalesce(c.created_at, n.created_at,
      case when o.outcome = 'purged' then least(o.closed_at, x.expires_at) end,
      case when x.expires_at <= pg_catalog.clock_timestamp() then x.expires_at end) end),
    l.stream is not null and l.outcome is null and e.state is null and c.stream is not null,
    e.result, e.error, l.worker, l.claimed_at, l.leased_until, l.after_position
  from (select (p_options ->> 'expires_at')::timestamptz as expires_at) x
  left join tock.results_{segment} e on e.stream = p_stream and e.position = p_position
  left join lateral (
    select k.* from tock.leases_{segment} k where k.stream = p_stream and k.after_position < p_position
    order by k.stream desc, k.after_position desc limit 1) o on o.last_position >= p_position
  left join lateral (select o.* where o.runs > 0 and p_position <> all (coalesce(o.skips, '{}'))) l on true
  left join lateral (
    select m.stream, m.created_at from tock.run_overrides_{segment} m
    where m.stream = p_stream and m.position = p_position and m.kind = 'cancelled'
      -- a run that had expired before the cancellation stays expired, even if it was purged later
      and (l.stream is not null or x.expires_at <= m.created_at is not true) offset 0) c on true
  left join lateral (
    select m.other_id, m.created_at from tock.run_overrides_{segment} m
    where m.stream = p_stream and m.position = p_position and m.kind = 'superseded' offset 0) n on true
$$;
