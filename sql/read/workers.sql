-- Nothing is stored of a worker but its leases, and a lease stays after its end. So the last leases of each
-- stream name the workers that are idle now, too.
create or replace function tock.workers(
  p_queue text default null, p_seconds integer default 3600, p_limit integer default 1000)
returns table (
  worker text, queues text[], first_claim_at timestamptz, last_claim_at timestamptz, leases integer,
  open_leases integer, average_open real) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_since timestamptz := pg_catalog.now() - p_seconds * interval '1 second';
  v_from bigint := (
    select min(e.first_position) - 1 from tock.segments e
    where e.number between tock.newest_segment() - 1 and tock.newest_segment());
begin
  if p_queue is not null then
    perform tock.check_queue_name(p_queue);
  end if;
  perform tock.check_range(p_seconds, 1, 86400, 'seconds');
  perform tock.check_range(p_limit, 1, 10000, 'limit');
  return query
    select l.worker, pg_catalog.array_agg(distinct s.queue order by s.queue), min(l.claimed_at),
      max(l.claimed_at), count(*)::integer, (count(*) filter (where l.closed_at is null))::integer,
      (sum(extract(epoch from coalesce(l.closed_at, pg_catalog.now()) - l.claimed_at))
        / greatest(1, extract(epoch from pg_catalog.now() - min(l.claimed_at))))::real
    from (
      select t.number, t.queue from tock.streams t where p_queue is null or t.queue = p_queue
      order by t.awake desc, t.number desc limit 1000) s
    cross join lateral (
      select c.worker, c.claimed_at, c.closed_at from tock.leases c
      where c.stream = s.number and c.after_position >= v_from
      order by c.stream desc, c.after_position desc limit 50) l
    where l.worker is not null and l.claimed_at > v_since
    group by l.worker order by 4 desc, 1 limit p_limit;
end $$;

comment on function tock.workers is
  'The workers that claimed tasks in the last p_seconds, of one queue if given, the latest claim first: '
  'their queues, their leases in that time, how many are open, and how many were open on average since the '
  'first. Reads the last 50 leases of up to 1,000 streams in the two newest segments. A worker that never '
  'found a task is not known.';
