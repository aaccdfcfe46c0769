-- What ended in some streams of an epoch, with the hour of its end. Most runs ended with their lease, at its
-- close; those with a result of their own did so at that. All began when their lease was claimed. $1 is the
-- queue; p_streams what else to ask of a stream s. Up to p_limit leases and results, and one more.
create or replace function tock.ends_statement(p_epoch integer, p_streams text, p_limit integer)
returns text
language sql
immutable
as $$
  select pg_catalog.format($q$
    select pg_catalog.date_trunc('hour', d.ended_at, 'UTC') as hour, d.done, d.failed, d.lost,
      d.done * greatest(0, extract(epoch from d.ended_at - d.claimed_at))::float8 as done_seconds, d.n
    from (
      select l.closed_at as ended_at, l.claimed_at, l.runs - own.results as done, 0 as failed, 0 as lost, l.n
      from (
        select l.*, row_number() over () as n
        from tock.streams s
        cross join lateral (
          select l.stream, l.after_position, l.last_position, l.claimed_at, l.closed_at, l.runs, l.skips
          from tock.leases_%1$s l where l.stream = s.number and l.outcome = 'done' offset 0) l
        where %2$s limit %3$s + 1) l
      cross join lateral (
        select count(*) as results from tock.results_%1$s e
        where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position
          and e.position <> all (coalesce(l.skips, '{}')) offset 0) own
      union all
      select e.ended_at, l.claimed_at, (e.state = 'done')::integer, (e.state = 'failed')::integer,
        (e.state = 'lost')::integer, e.n
      from (
        select e.*, row_number() over () as n
        from tock.streams s
        cross join lateral (
          select e.stream, e.position, e.state, e.ended_at
          from tock.results_%1$s e where e.stream = s.number and e.state in ('done', 'failed', 'lost') offset 0) e
        where %2$s limit %3$s + 1) e
      left join lateral (
        select k.claimed_at from tock.leases_%1$s k where k.stream = e.stream and k.after_position < e.position
        order by k.stream desc, k.after_position desc limit 1) l on true) d$q$, p_epoch, p_streams, p_limit)
$$;

comment on function tock.ends_statement is 'The statement that reads how runs of an epoch ended: hour, done, failed, lost, done_seconds.';

-- Called by the audit once for each stream of a settled epoch, in the transaction that notes how far it is.
create or replace function tock.add_hours(p_epoch integer, p_stream integer)
returns void
language plpgsql
volatile
as $$
begin
  execute pg_catalog.format($q$
    insert into tock.hours as h (queue, hour, done, failed, lost, done_seconds)
    select s.queue, d.hour, sum(d.done), sum(d.failed), sum(d.lost), coalesce(sum(d.done_seconds), 0)
    from tock.streams s cross join (%s) d
    where s.number = $1
    group by s.queue, d.hour
    having sum(d.done + d.failed + d.lost) > 0
    order by d.hour
    on conflict (queue, hour) do update set done = h.done + excluded.done, failed = h.failed + excluded.failed,
      lost = h.lost + excluded.lost, done_seconds = h.done_seconds + excluded.done_seconds$q$,
    tock.ends_statement(p_epoch, 's.number = $1', 2147483646)) using p_stream;
end $$;

comment on function tock.add_hours is 'Adds what ended in a stream of a settled epoch to tock.hours.';

-- One statement, so that a stream is either added up or read: its snapshot says how far the audit is.
create or replace function tock.hourly_stats(
  p_queue text, p_from timestamptz default null, p_to timestamptz default null, p_limit integer default 250000)
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
  v_from timestamptz := pg_catalog.date_trunc('hour', coalesce(p_from, pg_catalog.now() - interval '24 hours'), 'UTC');
  v_to timestamptz := coalesce(p_to, 'infinity');
  v_limit integer := greatest(1, least(p_limit, 1000000));
  v_parts text;
begin
  perform tock.check_queue_name(p_queue);
  if p_to <= p_from then
    perform tock.refuse(422, 'to is later than from', 'to');
  end if;
  -- of each epoch that is not audited yet, the streams that have not been added up
  select pg_catalog.string_agg(pg_catalog.format('union all select * from (%s) e%s',
    tock.ends_statement(e.number, pg_catalog.format($q$s.queue = $1 and (
      select e.audited_at is null and (e.audit_stream is null or s.number > e.audit_stream
        or (s.number = e.audit_stream and e.audit_position is not null))
      from tock.epochs e where e.number = %s)$q$, e.number), v_limit), e.number), ' ') into v_parts
  from tock.epochs e
  where e.audited_at is null and e.first_position <= (select s.last_value from tock.positions s);
  return query execute pg_catalog.format($q$
    with ends as materialized (
      select h.hour, h.done, h.failed, h.lost, h.done_seconds, 0 as n
      from tock.hours h where h.queue = $1 and h.hour >= $2 and h.hour < $3
      %s
    )
    select d.hour, sum(d.done)::bigint, sum(d.failed)::bigint, sum(d.lost)::bigint, coalesce(sum(d.done_seconds), 0)::float8,
      (sum(d.done_seconds) / nullif(sum(d.done), 0))::float8, (select max(m.n) > $4 from ends m)
    from ends d
    where d.hour >= $2 and d.hour < $3
    group by d.hour having sum(d.done + d.failed + d.lost) > 0
    order by d.hour$q$, v_parts) using p_queue, v_from, v_to, v_limit;
end $$;

comment on function tock.hourly_stats is
  'What ended in a queue by hour of UTC, from p_from (by default a day ago) to before p_to: runs that were done, with their total and mean duration in seconds, failed and lost. partial: more than p_limit leases or results were not added up yet, and those beyond are missing.';
