-- Reaps expired leases of the segment; returns the number of runs, and the last deadline if there are more.
create or replace function tock.reap_segment_{segment}(p_from timestamptz, p_now timestamptz, p_limit integer)
returns tock.reaped language plpgsql volatile
set plan_cache_mode = force_custom_plan as $$
declare
  v_expired tock.leases[];
  v_last uuid;
  v_ended tock.ending[];
  v_reaped tock.reaped;
begin
  v_expired := array(
    select l::tock.leases from tock.leases_{segment} l
    where l.closed_at is null and l.leased_until < p_now and l.leased_until >= p_from
    order by l.leased_until limit 1000 for update skip locked);
  v_reaped.runs := 0;
  -- take whole leases, up to about p_limit runs and at least one lease; leave a lease of which another call
  -- has locked a row, and the last lease of a full batch, which may have more rows than were read
  if pg_catalog.cardinality(v_expired) = 1000 then
    v_reaped.reached_at := v_expired[1000].leased_until;
    v_last := case when v_expired[1].token <> v_expired[1000].token then v_expired[1000].token end;
  end if;
  v_expired := array(
    select b.lease from (
      select e as lease, sum(e.runs) over (order by e.leased_until, e.token)
        - sum(e.runs) over (partition by e.token) as before, count(*) over (partition by e.token) as rows
      from unnest(v_expired) e) b
    where b.before < p_limit and (b.lease).token is distinct from v_last
      and ((b.lease).alone or b.rows >= least(1000, (
        select count(*) from tock.leases_{segment} l
        where l.token = (b.lease).token and l.alone is null
          and coalesce(l.closed_at, 'infinity') = 'infinity'))));
  if pg_catalog.cardinality(v_expired) = 0 then
    return v_reaped;
  end if;
  v_ended := array(
    select row(r.stream, r.position, case when t.up then 'failed' else 'lost' end, null,
      pg_catalog.jsonb_build_object('name', case when t.up then 'TimedOut' else 'LeaseExpired' end,
        'message', case when t.up then 'the time limit ended at ' else 'the lease expired at ' end
        || tock.utc(l.leased_until)
        || case when not t.up and r.lost + 1 >= p.max_lost
          then pg_catalog.format('; lost %s times, and max_lost is %s', r.lost + 1, p.max_lost) else '' end),
      case when t.up then tock.next_attempt_at(p, r.options, r.attempt, r.lost, r.max_attempts)
        when r.lost + 1 < p.max_lost then tock.ready_again_at(s.queue, r.options) end,
      r.attempt + 1, case when t.up then r.lost else r.lost + 1 end, null, null)::tock.ending
    from unnest(v_expired) l
    join tock.streams s on s.number = l.stream
    cross join lateral tock.policy(s.queue) p
    -- timeout_at and leased_until of one claim were computed a moment apart
    cross join lateral (select coalesce(l.timeout_at <= l.leased_until + interval '1 second', false) as up) t
    cross join lateral (
      select r.stream, r.position, r.attempt, r.lost, r.max_attempts, r.options from tock.runs_{segment} r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
        and r.position <> all (coalesce(l.skips, '{}'))
      offset 0) r  -- a fence: the planner may not begin with all runs of a stream
    where (
      select e.position from tock.results_{segment} e
      where e.stream = r.stream and e.position = r.position) is null
    order by r.position);
  perform tock.end_runs({segment}, v_ended);
  update tock.leases_{segment} l set closed_at = pg_catalog.now(), outcome = case
    when exists (select from unnest(v_ended) e
      where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)
    then 'lost' else 'done' end
  from unnest(v_expired) x
  where l.stream = x.stream and l.after_position = x.after_position;
  v_reaped.runs := pg_catalog.cardinality(v_ended);
  perform tock.on_leases_ended(array(
    select distinct e.token from unnest(v_expired) e where tock.lease_has_options(e.token)),
    {segment}, false);
  return v_reaped;
end $$;
