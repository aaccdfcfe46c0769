-- A run's row as a search shows it, newest first; the filter is judged on what standing() says. A first look at a few runs
-- of each stream tells which of them have the newest ones; those are looked at for 5,000 in all. Below the last that was seen
-- of a stream that has more, nothing of the others counts either, or the order would be wrong. No more are judged than it
-- takes to find $5, as nothing is sorted or hashed after that order. What waits is asked in the
-- same statement, as between two a task could go from one to the other and be in neither. $1 streams, $2 below which
-- position, $3 how many of each at first, $4 the filter, $5 how many.
create or replace function tock.search_statement(p_epoch integer)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with s as materialized (
      select t.number, t.queue, t.priority from unnest($1::integer[]) u (number) join tock.streams t on t.number = u.number
    ), glance as materialized (
      select s.number as stream, s.queue, s.priority, x.position from s cross join lateral (
        select o.position from tock.runs_%1$s o where o.stream = s.number and o.position < $2
        order by o.stream desc, o.position desc limit $3) x
    ), reach as materialized (
      select g.stream, g.queue, g.priority, max(g.position) as newest, min(g.position) as least, count(*) >= $3 as has_more
      from glance g group by g.stream, g.queue, g.priority
    ), lively as materialized (
      select h.stream, h.queue, h.priority, 5000 / count(*) over () as share from reach h
      where h.newest >= (select max(r.least) from reach r where r.has_more)
    ), again as materialized (
      select v.stream, v.queue, v.priority, v.share, x.position from lively v cross join lateral (
        select o.position from tock.runs_%1$s o where o.stream = v.stream and o.position < $2
        order by o.stream desc, o.position desc limit v.share) x
      where v.share > $3
    ), seen as materialized (
      select a.stream, a.queue, a.priority, a.position, a.share as asked from again a
      union all
      select g.stream, g.queue, g.priority, g.position, $3 from glance g where g.stream not in (select a.stream from again a)
    ), horizon as materialized (
      select coalesce(max(h.least), 0) as position from (
        select min(v.position) as least from seen v group by v.stream, v.asked having count(*) >= v.asked) h
    ), found as materialized (
      select j.* from (
        select v.position, v.stream, v.queue, v.priority, coalesce(r.task_id, v.position << 20 | v.stream) as task_id, t.state,
          r.tenant, r.attempt, r.created_at, d.ended_at, l.worker, case when t.state = 'dead' then tock.error_text(e.error) end as error
        from (
          select v.* from seen v where v.position >= (select h.position from horizon h) order by v.position desc) v
        cross join lateral (
          select r.stream, r.position, r.task_id, r.tenant, r.attempt, r.created_at, r.options from tock.runs_%1$s r
          where r.stream = v.stream and r.position = v.position offset 0) r
      %2$s
        cross join lateral (
          select case when d.state in ('failed', 'lost', 'superseded') then 'dead' else d.state end as state offset 0) t
        where d.next_id is null) j
      where coalesce(j.state = $4 ->> 'state', true) and coalesce(j.tenant = $4 ->> 'tenant', $4 ->> 'tenant' is null)
        and coalesce(j.worker = $4 ->> 'worker', $4 ->> 'worker' is null) and coalesce(j.error = $4 ->> 'error', $4 ->> 'error' is null)
        and coalesce(j.created_at >= ($4 ->> 'from')::timestamptz, true) and coalesce(j.created_at < ($4 ->> 'to')::timestamptz, true)
        -- as it is hidden when it is asked for by its id
        and coalesce(j.ended_at >= tock.shown_since(j.queue), true)
      order by j.position desc limit $5
    )
    select coalesce((
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', f.task_id::text, 'run_id', (f.position << 20 | f.stream)::text,
          'queue', f.queue, 'state', f.state, 'priority', f.priority, 'tenant', f.tenant, 'attempt', f.attempt,
          'created_at', f.created_at, 'run_at', null, 'ended_at', f.ended_at, 'worker', f.worker, 'error', f.error, 'at', f.position) order by f.position desc) from found f), '[]') as tasks,
      (select (count(*) + (select count(*) from again))::integer from glance) as looked, (select h.position from horizon h) as horizon,
      w.tasks as w_tasks, w.looked_at as w_looked, w.horizon as w_horizon
    from tock.search_waiting($4, $2, $5, 5000) w$q$, p_epoch, tock.standing(p_epoch))
$$;

comment on function tock.search_statement is 'The statement that looks for tasks in one epoch, the newest first: tasks, how many rows were looked at, and below which position there may be more; then the same of what waits.';

create or replace function tock.search(p_filter jsonb default '{}', p_cursor text default null, p_limit integer default 100)
returns table (tasks jsonb, cursor text, looked_at integer)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_below bigint;
  v_from timestamptz;
  v_epoch tock.epochs;
  v_older tock.epochs;
  v_streams integer[];
  v_part jsonb := '[]';
  v_looked integer := 0;
  v_horizon bigint := 0;
  v_waits record;
begin
  perform tock.check_filter(p_filter, array['waiting', 'ready', 'running', 'done', 'dead', 'cancelled', 'expired'], p_limit, 1000,
    array['queue', 'state', 'tenant', 'error', 'worker', 'from', 'to', 'unique_key', 'gate']);
  if p_filter ->> 'queue' is not null then
    perform tock.check_queue_name(p_filter ->> 'queue');
  end if;
  v_from := tock.search_time(p_filter, 'from');
  perform tock.search_time(p_filter, 'to');
  v_below := tock.search_below(p_cursor);
  if coalesce(p_filter ->> 'unique_key', p_filter ->> 'gate') is not null then
    if p_filter ->> 'queue' is null then
      perform tock.refuse(422, 'a unique key, or a gate, is one of a queue', 'queue', 'name the queue too');
    elsif p_filter ->> 'unique_key' is not null and p_filter ->> 'gate' is not null then
      perform tock.refuse(422, 'a search is for a unique key or for a gate', 'gate', 'leave one of them out');
    end if;
    return query select tock.search_by_key(p_filter, p_limit), null::text, 0;
    return;
  end if;
  v_epoch := tock.searched_epoch(p_filter, v_below);
  if v_epoch.number is null then
    select w.tasks as w_tasks, w.looked_at as w_looked, w.horizon as w_horizon into v_waits
    from tock.search_waiting(p_filter, v_below, p_limit + 1, 5000) w;
  else
    v_streams := tock.searched_streams(p_filter ->> 'queue', v_epoch.first_position);
    execute tock.search_statement(v_epoch.number) into v_waits
      using v_streams, v_below, greatest(3, 5000 / greatest(1, pg_catalog.cardinality(v_streams))), p_filter, p_limit + 1;
    v_part := v_waits.tasks; v_looked := v_waits.looked; v_horizon := v_waits.horizon;
    v_older := tock.searched_epoch(p_filter, v_epoch.first_position);
    -- nothing of this epoch is left: on to the one before, but not to what is older than was asked for
    if v_horizon = 0 and v_older.number is not null and coalesce(v_epoch.started_at > v_from, true) then
      v_horizon := v_epoch.first_position;
    end if;
  end if;
  v_part := v_part || v_waits.w_tasks;
  v_looked := v_looked + v_waits.w_looked;
  v_horizon := greatest(v_horizon, v_waits.w_horizon);
  return query
    with all_found as (
      select x.task, (x.task ->> 'at')::bigint as at, row_number() over (order by (x.task ->> 'at')::bigint desc) as n
      from pg_catalog.jsonb_array_elements(v_part) x (task) where (x.task ->> 'at')::bigint >= v_horizon
    ), page as (select a.* from all_found a where a.n <= p_limit),
    rest as (
      select case when exists (select from all_found a where a.n > p_limit) then (select min(g.at) from page g)
        else nullif(v_horizon, 0) end as below)
    select coalesce((select pg_catalog.jsonb_agg(g.task - 'at' order by g.n) from page g), '[]'),
      pg_catalog.lpad(pg_catalog.to_hex(r.below), 12, '0'), v_looked
    from rest r;
end $$;

comment on function tock.search is
  'Tasks of a queue or of all, the newest first by their newest run or entry, that a filter lets through ({queue, state, tenant, error, worker, from, to}, all text; with queue also unique_key or gate): a part at a time. It looks at some 10,000 rows and may find none among them: go on while there is a cursor.';
