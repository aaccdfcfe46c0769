-- Takes the lease rows for update skip locked and looks for results in a new statement: a partial
-- completion either is seen, or holds its row and is left for the next time. Deadlines are read upwards
-- from the last one reaped: under a held-open transaction the low end is full of dead entries. A
-- claim that commits after its deadline lies below and is found by the sweep: once a minute, and
-- never more than a twentieth of the time.
create or replace function tock.reap(p_limit integer default 10000, p_sweep boolean default null)
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
  v_duty tock.duties := (select d from tock.duties d where d.name = 'reap');
  v_sweep boolean := coalesce(p_sweep, v_duty.swept_at is null or v_duty.swept_at < v_now - interval '1 minute');
  v_from timestamptz := case when v_sweep then '-infinity' else coalesce(v_duty.reached_at, '-infinity') end;
  v_reached timestamptz := v_now;
  v_epoch integer;
  v_part tock.reaped;
  v_runs integer := 0;
begin
  foreach v_epoch in array tock.unsettled_epochs() loop
    v_part := tock.reap_epoch(v_epoch, v_from, v_now, p_limit - v_runs);
    v_runs := v_runs + v_part.runs;
    v_reached := least(v_reached, v_part.reached_at);
    exit when v_runs >= p_limit;
  end loop;
  update tock.duties d
  set reached_at = case when v_runs < p_limit then greatest(d.reached_at, v_reached) else d.reached_at end,
    swept_at = case when v_sweep and v_runs < p_limit
      then v_now + 20 * (pg_catalog.clock_timestamp() - v_now) else d.swept_at end
  where d.name = 'reap';
  return v_runs;
end $$;

comment on function tock.reap is
  'Takes back the runs of leases past their deadline, about p_limit a call: each is lost and its task ready again, or dead after max_lost. Returns how many. p_sweep reads from the bottom, by itself once a minute.';

create or replace function tock.reap_epoch(p_epoch integer, p_from timestamptz, p_now timestamptz, p_limit integer)
returns tock.reaped
language plpgsql
volatile
as $$
declare
  v_expired tock.leases[];
  v_last uuid;
  v_ended tock.ending[];
  v_reaped tock.reaped;
begin
  execute pg_catalog.format($q$
    select array(
      select l::tock.leases from tock.leases_%s l
      where l.closed_at is null and l.leased_until < $2 and l.leased_until >= $1
      order by l.leased_until limit 1000 for update skip locked)$q$, p_epoch)
    into v_expired using p_from, p_now;
  v_reaped.runs := 0;
  -- whole leases up to about p_limit runs, one at least: the last of a full batch may be cut
  if pg_catalog.cardinality(v_expired) = 1000 then
    v_reaped.reached_at := v_expired[1000].leased_until;
    v_last := case when v_expired[1].token <> v_expired[1000].token then v_expired[1000].token end;
  end if;
  v_expired := array(
    select b.lease from (
      select e as lease, sum(e.runs) over (order by e.leased_until, e.token)
        - sum(e.runs) over (partition by e.token) as before
      from unnest(v_expired) e) b
    where b.before < p_limit and (b.lease).token is distinct from v_last);
  if pg_catalog.cardinality(v_expired) = 0 then
    return v_reaped;
  end if;
  execute pg_catalog.format($q$
    select array(
      select row(r.stream, r.position, case when t.up then 'failed' else 'lost' end, null,
        pg_catalog.jsonb_build_object('name', case when t.up then 'TimedOut' else 'LeaseExpired' end,
          'message', case when t.up then 'the time limit was over at ' else 'the lease ran out at ' end
          || pg_catalog.to_char(l.leased_until at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
          || case when not t.up and r.lost + 1 >= p.max_lost
            then pg_catalog.format('; lost %%s times, and max_lost is %%s', r.lost + 1, p.max_lost) else '' end),
        case when t.up then tock.next_attempt_at(p, r.options, r.attempt, r.lost, r.max_attempts)
          when r.lost + 1 < p.max_lost then tock.back_at(s.queue, r.options) end,
        r.attempt + 1, case when t.up then r.lost else r.lost + 1 end, null, null)::tock.ending
      from unnest($1) l
      join tock.streams s on s.number = l.stream
      cross join lateral tock.policy(s.queue) p
      -- of a claim whose lease ends with the time limit, both were reckoned a moment apart
      cross join lateral (select coalesce(l.timeout_at <= l.leased_until + interval '1 second', false) as up) t
      cross join lateral (
        select r.stream, r.position, r.attempt, r.lost, r.max_attempts, r.options from tock.runs_%1$s r
        where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
          and r.position <> all (coalesce(l.skips, '{}'))
        offset 0) r  -- a fence: the planner may not begin with all runs of a stream
      where (select e.position from tock.results_%1$s e where e.stream = r.stream and e.position = r.position) is null
      order by r.position)$q$, p_epoch) into v_ended using v_expired;
  perform tock.end_runs(p_epoch, v_ended);
  execute pg_catalog.format($q$
    update tock.leases_%s l set closed_at = pg_catalog.now(), outcome = case
      when exists (select from unnest($2) e
        where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)
      then 'lost' else 'done' end
    from unnest($1) x
    where l.stream = x.stream and l.after_position = x.after_position$q$, p_epoch) using v_expired, v_ended;
  v_reaped.runs := pg_catalog.cardinality(v_ended);
  perform tock.on_leases_ended(array(
    select distinct e.token from unnest(v_expired) e where tock.lease_asks(e.token)), p_epoch, false);
  return v_reaped;
end $$;

comment on function tock.reap_epoch is 'Reaps what lies in one epoch: how many runs, and up to which deadline when that was not all.';

-- pg_cron's background workers know no statement_timeout, and one set inside a function would only
-- hold from the next statement on. So the jobs watch over each other.
create or replace function tock.cancel_overdue(p_seconds integer default 60)
returns integer
language sql
volatile
as $$
  select count(pg_catalog.pg_cancel_backend(o.pid))::integer
  from (
    select distinct a.pid
    from tock.duties d
    join pg_catalog.pg_locks l on l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace
      and l.objid::bigint = tock.named_key('duty', d.name)
      and l.database = (select b.oid from pg_catalog.pg_database b where b.datname = pg_catalog.current_database())
    join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where a.state = 'active' and a.pid <> pg_catalog.pg_backend_pid() and a.usename = current_user
      and a.query ~ 'tock\.(tick|run_duty)\('
      and a.query_start < pg_catalog.clock_timestamp() - p_seconds * interval '1 second') o
$$;

comment on function tock.cancel_overdue is
  'Cancels calls of tick() and run_duty() by this role that have taken longer than p_seconds; returns how many.';
