-- The index of open leases is read, the next deadline first, in the segments from the oldest open one on. The
-- answer never has a lease token, which belongs to the worker.
create or replace function tock.running(
  p_queue text default null, p_worker text default null, p_cursor text default null,
  p_limit integer default 100)
returns table (leases jsonb, cursor text, scanned integer) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_from bigint := (select min(e.first_position) - 1 from tock.segments e where e.closed_at is null);
  v_after jsonb;
  v_until timestamptz;
  v_stream integer;
  v_position bigint;
begin
  if p_queue is not null then
    perform tock.check_queue_name(p_queue);
  end if;
  perform tock.check_range(p_limit, 1, 1000, 'limit');
  begin
    v_after := pg_catalog.convert_from(pg_catalog.decode(p_cursor, 'hex'), 'UTF8')::jsonb;
    v_until := (v_after ->> 0)::timestamptz;
    v_stream := (v_after ->> 1)::integer;
    v_position := (v_after ->> 2)::bigint;
    if num_nulls(v_until, v_stream, v_position) <> 0 and p_cursor is not null then
      raise data_exception;
    end if;
  exception when data_exception then
    perform tock.refuse(422, 'the cursor is not from this list', 'cursor',
      'send the cursor of the previous page, with the same filter');
  end;
  return query
    with seen as materialized (
      select l.* from tock.leases l
      where l.closed_at is null and l.after_position >= v_from and (v_until is null
        or l.leased_until >= v_until
          and (l.leased_until, l.stream, l.after_position) > (v_until, v_stream, v_position))
      order by l.leased_until, l.stream, l.after_position limit 2000
    ), chosen as materialized (
      select s.*, t.queue, row_number() over (order by s.leased_until, s.stream, s.after_position) as n
      from seen s join tock.streams t on t.number = s.stream
      where coalesce(t.queue = p_queue, true) and coalesce(s.worker = p_worker, p_worker is null)
      order by n limit p_limit + 1
    )
    select coalesce((
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
          'queue', c.queue, 'worker', c.worker, 'claimed_at', c.claimed_at, 'leased_until', c.leased_until,
          'late', c.leased_until < pg_catalog.clock_timestamp(), 'runs', c.runs,
          'unfinished', c.runs - (
            select count(*) from tock.results e
            where e.stream = c.stream and e.position >= v_from + 1 and e.position > c.after_position
              and e.position <= c.last_position and e.position <> all (coalesce(c.skips, '{}'))),
          'tasks', (
            select pg_catalog.jsonb_agg(coalesce(r.task_id, tock.id_at(r.position, r.stream))::text
              order by r.position)
            from (
              select r.task_id, r.position, r.stream from tock.runs r
              where r.stream = c.stream and r.position >= v_from + 1 and r.position > c.after_position
                and r.position <= c.last_position and r.position <> all (coalesce(c.skips, '{}'))
                and (select e.position from tock.results e
                  where e.stream = r.stream and e.position = r.position and e.position >= v_from + 1) is null
              order by r.stream, r.position limit 10) r)) order by c.n)
        from chosen c where c.n <= p_limit), '[]'),
      -- the next page begins after the last lease shown, or after the last one scanned
      pg_catalog.encode(pg_catalog.convert_to(coalesce(
        (select pg_catalog.jsonb_build_array(c.leased_until, c.stream, c.after_position) from chosen c
         where c.n = p_limit and exists (select from chosen o where o.n > p_limit)),
        (select pg_catalog.jsonb_build_array(s.leased_until, s.stream, s.after_position) from seen s
         order by s.leased_until, s.stream, s.after_position offset 1999))::text, 'UTF8'), 'hex'),
      (select count(*)::integer from seen);
end $$;

comment on function tock.running is
  'Open leases, of one queue or worker if given, the next deadline first (a lease over several streams once '
  'for each), each with the ids of up to ten unfinished tasks. Scans up to 2,000 leases, and a page may be '
  'empty: continue while there is a cursor.';
