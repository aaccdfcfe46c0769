create or replace function tock.ended_in(p_epoch integer, p_stream integer, p_queue text, p_limit integer)
returns table (
  hour timestamptz, done bigint, failed integer, lost integer, done_seconds double precision, n bigint)
language plpgsql
stable
as $$
begin
  return query execute pg_catalog.format('select e.* from tock.ended_runs_%s($1, $2, $3) e', p_epoch)
    using p_stream, p_queue, p_limit;
end $$;

comment on function tock.ended_in is
  'ended_runs_N() of a segment, in the snapshot of the statement that asks.';

-- Called by the audit once for each stream of a settled epoch, in the transaction that notes how far it is.
create or replace function tock.add_hours(p_epoch integer, p_stream integer)
returns void
language plpgsql
volatile
as $$
begin
  insert into tock.hours as h (queue, hour, done, failed, lost, done_seconds)
  select s.queue, d.hour, sum(d.done), sum(d.failed), sum(d.lost), coalesce(sum(d.done_seconds), 0)
  from tock.streams s cross join tock.ended_in(p_epoch, p_stream, null, 2147483646) d
  where s.number = p_stream
  group by s.queue, d.hour
  having sum(d.done + d.failed + d.lost) > 0
  order by d.hour
  on conflict (queue, hour) do update set done = h.done + excluded.done, failed = h.failed + excluded.failed,
    lost = h.lost + excluded.lost, done_seconds = h.done_seconds + excluded.done_seconds;
end $$;

comment on function tock.add_hours is 'Adds what ended in a stream of a settled epoch to tock.hours.';

-- One statement, so that a stream is either added up or read: its snapshot says how far the audit is.
create or replace function tock.hourly_stats(
  p_queue text, p_from timestamptz default null, p_to timestamptz default null,
  p_limit integer default 250000)
returns table (
  hour timestamptz, done bigint, failed bigint, lost bigint, total_seconds double precision,
  mean_seconds double precision, partial boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_from timestamptz := pg_catalog.date_trunc('hour',
    coalesce(p_from, pg_catalog.now() - interval '24 hours'), 'UTC');
  v_to timestamptz := coalesce(p_to, 'infinity');
  v_limit integer := greatest(1, least(p_limit, 1000000));
begin
  perform tock.check_queue_name(p_queue);
  if p_to <= p_from then
    perform tock.refuse(422, 'to is later than from', 'to');
  end if;
  return query
    with ends as materialized (
      select h.hour, h.done, h.failed, h.lost, h.done_seconds, 0 as n
      from tock.hours h where h.queue = p_queue and h.hour >= v_from and h.hour < v_to
      union all
      -- of each epoch that is not audited yet, the streams that have not been added up
      select d.hour, d.done, d.failed, d.lost, d.done_seconds, d.n
      from tock.epochs e cross join lateral tock.ended_in(e.number, null, p_queue, v_limit) d
      where e.audited_at is null and e.first_position <= (select s.last_value from tock.positions s)
    )
    select d.hour, sum(d.done)::bigint, sum(d.failed)::bigint, sum(d.lost)::bigint,
      coalesce(sum(d.done_seconds), 0)::float8, (sum(d.done_seconds) / nullif(sum(d.done), 0))::float8,
      (select max(m.n) > v_limit from ends m)
    from ends d
    where d.hour >= v_from and d.hour < v_to
    group by d.hour having sum(d.done + d.failed + d.lost) > 0
    order by d.hour;
end $$;

comment on function tock.hourly_stats is
  'What ended in a queue by hour of UTC, from p_from (by default a day ago) to before p_to: runs that were '
  'done, with their total and mean duration in seconds, failed and lost. partial: more than p_limit leases '
  'or results were not added up yet, and those beyond are missing.';
