-- Takes the lease rows for update skip locked and looks for results in a new statement: a partial
-- completion either is seen, or holds its row and is left for the next time.
create or replace function tock.reap(p_limit integer default 10000)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_expired tock.leases[];
  v_last uuid;
  v_ended tock.ended[];
begin
  v_expired := array(
    select l from tock.leases l
    where l.closed_at is null and l.leased_until < v_now
    order by l.leased_until limit 1000 for update skip locked);
  -- whole leases up to about p_limit runs, one at least: the last of a full batch may be cut
  v_last := case when pg_catalog.cardinality(v_expired) = 1000
    and v_expired[1].token <> v_expired[1000].token then v_expired[1000].token end;
  v_expired := array(
    select b.lease from (
      select e as lease, sum(e.runs) over (order by e.leased_until, e.token)
        - sum(e.runs) over (partition by e.token) as before
      from unnest(v_expired) e) b
    where b.before < p_limit and (b.lease).token is distinct from v_last);
  if pg_catalog.cardinality(v_expired) = 0 then
    return 0;
  end if;
  v_ended := array(
    select row(r.stream, r.position, 'lost', null,
      pg_catalog.jsonb_build_object('name', 'LeaseExpired', 'message', 'the lease ran out at '
        || pg_catalog.to_char(l.leased_until at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
      case when r.lost + 1 < p.max_lost then '-infinity'::timestamptz end, r.attempt + 1, r.lost + 1)::tock.ended
    from unnest(v_expired) l
    join tock.streams s on s.number = l.stream
    cross join lateral tock.policy(s.queue) p
    cross join lateral (
      select r.stream, r.position, r.attempt, r.lost from tock.runs r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
      offset 0) r  -- a fence: the planner may not begin with all runs of a stream
    where (select e.position from tock.results e where e.stream = r.stream and e.position = r.position) is null
    order by r.position);
  perform tock.end_runs(v_ended);
  update tock.leases l set closed_at = pg_catalog.now(), outcome = case
    when exists (select from unnest(v_ended) e
      where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)
    then 'lost' else 'done' end
  from unnest(v_expired) x
  where l.stream = x.stream and l.after_position = x.after_position;
  return pg_catalog.cardinality(v_ended);
end $$;

comment on function tock.reap is
  'Takes back the runs of leases past their deadline, about p_limit a call: each is lost and its task ready again, or dead after max_lost. Returns how many.';
