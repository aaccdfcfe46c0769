-- Tasks that match a checked filter, the newest first: up to p_limit among about p_scan_limit rows, and the
-- cursor of the next page, null at the end. Tasks are listed by the position of their newest run or waiting
-- row, the newest first, over all states and streams. A cursor is a position. Tasks added after the first
-- call lie above it, so the pages come to an end.
create or replace function tock.list_tasks(
  p_filter jsonb, p_cursor text, p_limit integer, p_scan_limit integer default 10000, out tasks jsonb,
  out cursor text, out scanned integer)
language plpgsql volatile
set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off as $$
declare
  v_below bigint := tock.list_below(p_cursor);
  v_from timestamptz := tock.filter_time(p_filter, 'from');
  v_state text := p_filter ->> 'state';
  v_segment tock.segments;
  v_older tock.segments;
  v_streams integer[];
  v_scan integer;
  v_part record;
  v_horizon bigint;
  v_count integer;
begin
  tasks := '[]';
  scanned := 0;
  loop
    v_segment := tock.listed_segment(p_filter, v_below);
    v_horizon := 0;
    if v_segment.number is null then
      v_scan := least(p_scan_limit / 2, greatest(2 * coalesce(v_scan, 0), p_limit + 100));
      select w.* into v_part from tock.list_waiting(p_filter, v_below, p_limit + 1, v_scan) w;
      v_horizon := v_part.horizon;
    else
      -- streams that may have runs in this segment or later, the latest first
      v_streams := case when p_filter ->> 'queue' is null then array(
          select s.number from tock.streams s
          where s.awake or s.start_after >= v_segment.first_position - 1
          order by s.awake desc, s.start_after desc limit 2000)
        else array(
          select s.number from tock.streams s
          where s.queue = p_filter ->> 'queue'
            and (s.awake or s.start_after >= v_segment.first_position - 1)
          order by s.awake desc, s.start_after desc limit 20000) end;
      v_scan := least(p_scan_limit / 2,
        greatest(4 * coalesce(v_scan, 0), p_limit + 100, 3 * pg_catalog.cardinality(v_streams)));
      execute pg_catalog.format('select r.* from tock.list_runs_%s($1, $2, $3, $4, $5, $6) r',
        v_segment.number)
        into v_part using v_streams, v_below, v_scan, p_filter, p_limit + 1, v_state;
      v_horizon := v_part.horizon;
      v_older := tock.listed_segment(p_filter, v_segment.first_position);
      -- nothing of this segment is left: continue with the one before, unless it is older than the filter
      -- allows
      if v_horizon = 0 and v_older.number is not null and coalesce(v_segment.started_at > v_from, true) then
        v_horizon := v_segment.first_position;
      end if;
      v_horizon := greatest(v_horizon, v_part.waiting_horizon);
    end if;
    scanned := scanned + v_part.scanned;
    select count(*), tasks || coalesce(pg_catalog.jsonb_agg(x.task order by x.at desc)
      filter (where x.n <= p_limit), '[]'),
        coalesce(min(x.at) filter (where x.n = p_limit and x.more > p_limit), v_horizon)
      into v_count, tasks, v_below
    from (
      select y.task, y.at, row_number() over (order by y.at desc) as n, count(*) over () as more
      from (
        select t.task, (t.task ->> 'at')::bigint as at
        from pg_catalog.jsonb_array_elements(v_part.tasks) t (task)) y
      where y.at >= v_horizon) x;
    p_limit := p_limit - least(v_count, p_limit);
    exit when v_below = 0 or p_limit = 0 or scanned + v_scan > p_scan_limit;
  end loop;
  tasks := (
    select coalesce(pg_catalog.jsonb_agg(x.task - 'at' order by x.n), '[]')
    from pg_catalog.jsonb_array_elements(tasks) with ordinality x (task, n));
  cursor := pg_catalog.lpad(pg_catalog.to_hex(nullif(v_below, 0)), 12, '0');
end $$;
