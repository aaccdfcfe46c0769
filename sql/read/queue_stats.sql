-- How many runs are ready in each stream that is awake: those that the last count left, and what came and went since. So it
-- costs what has happened since and not the backlog; it is one statement, or a count could come between two. Of what is
-- marked above the cursor nobody knows but the marks. (Since when the oldest is ready: when it came, was due last, or the run before it ended.)
create or replace function tock.ready_statement(p_epochs integer[])
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with s as materialized (
      select s.number, s.queue, s.start_after, coalesce(c.ready, 0) as ready, coalesce(c.runs_to, 0) as runs_to,
        coalesce(c.leases_to, -1) as leases_to
      from tock.streams s left join tock.counted c on c.stream = s.number
      where s.awake and ($1 is null or s.queue = $1)
    ), news as (%1$s), stands as materialized (
      select s.number, s.queue, s.ready + n.runs - n.leased as ready, greatest(s.start_after, s.leases_to, n.last_position) as cursor
      from s join (
        select n.number, sum(n.runs) as runs, sum(n.leased) as leased, max(n.last_position) as last_position
        from news n group by n.number) n using (number)
    ), heads as (%2$s)
    select t.queue, greatest(0, t.ready - h.marked) as runs, case when t.ready > h.marked then h.oldest end as oldest
    from stands t join (
      select h.number, sum(h.marked) as marked, min(h.oldest) as oldest from heads h group by h.number) h using (number)$q$,
    (select pg_catalog.string_agg(pg_catalog.format($q$
      select s.number, n.* from s cross join lateral (
        select (
            select count(*) from (
              select from tock.runs_%1$s r where r.stream = s.number and r.position > s.runs_to
              order by r.stream, r.position limit 1000000) x) as runs, l.leased, l.last_position
        from (
          select coalesce(sum(l.runs + l.skipped), 0) as leased, max(l.last_position) as last_position
          from tock.leases_%1$s l where l.stream = s.number and l.after_position >= s.leases_to) l offset 0) n$q$, e), ' union all ')
      from unnest(p_epochs) e),
    (select pg_catalog.string_agg(pg_catalog.format($q$
      select t.number, h.* from stands t cross join lateral (
        select (
            select count(distinct m.position) from tock.marks_%1$s m
            where m.stream = t.number and m.position > t.cursor and m.kind in ('cancelled', 'superseded')) as marked,
          (select coalesce(case
              when r.task_id is null then r.created_at
              when r.attempt = 1 and r.lost = 0 and r.task_id & 1048575 = 0 then (
                select case when p.due_at > '-infinity' then p.due_at else p.promoted_at end
                from tock.promotions p where p.position = r.task_id >> 20)
              else coalesce((select max(case when p.due_at > '-infinity' then p.due_at else p.promoted_at end)
                from tock.promotions p where p.run_id = r.position << 20 | r.stream),
                tock.ready_since(r.stream, r.position, r.task_id)) end,
              r.created_at)
           from (
             select r.* from tock.runs_%1$s r where r.stream = t.number and r.position > t.cursor
             order by r.stream, r.position limit 1) r) as oldest offset 0) h
      where t.ready > 0$q$, e), ' union all ')
      from unnest(p_epochs) e))
$$;

comment on function tock.ready_statement is 'The statement that says how much of each stream is ready, and since when; up to a million that came since the last count a stream.';

-- What the last whole round of counting began after is counted; what was settled since, or shortly before, may hold leases
-- that aren't.
create or replace function tock.news_epochs()
returns integer[]
language sql
volatile
as $$
  select tock.unsettled_epochs() || array(
    select e.number from tock.epochs e cross join tock.counting g
    where e.settled_at > coalesce(g.finished_at - interval '10 minutes', '-infinity') and e.end_position > g.from_position
    order by e.number)
$$;

comment on function tock.news_epochs is 'The epochs that may hold something that has not been counted.';

-- Reads only what is unfinished; what died in settled epochs was counted when they were settled. One statement: a task
-- that moves meanwhile would be in none of the counts, or in two, and a queue be empty that never was.
create or replace function tock.queue_stats(p_queue text default null)
returns table (
  queue text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint, oldest_ready_at timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_unfinished text := (
    select coalesce(pg_catalog.string_agg(pg_catalog.format($q$
      union all
      select s.queue, 0, null, l.runs - (
        select count(*) from tock.results_%1$s e
        where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position), 0
      from tock.leases_%1$s l join tock.streams s on s.number = l.stream
      where l.closed_at is null and ($1 is null or s.queue = $1)
      union all
      select d.key, 0, null, 0, d.value::bigint from pg_catalog.jsonb_each_text(tock.dead_in(%1$s)) d
      where $1 is null or d.key = $1$q$, n), ''), '')
    from unnest(tock.unsettled_epochs()) n);
begin
  return query execute pg_catalog.format($q$
    select q.name, tock.is_paused(q), coalesce(p.ready, 0)::bigint, coalesce(p.running, 0)::bigint,
      (select count(*) from (select from tock.waiting w where w.queue = q.name limit 1000000) w),
      (coalesce(p.dead, 0) + coalesce((
        select sum((e.dead ->> q.name)::bigint) from tock.epochs e where e.settled_at is not null), 0))::bigint, p.oldest
    from tock.queues q
    left join (
      select x.queue, sum(x.ready) as ready, sum(x.running) as running, sum(x.dead) as dead, min(x.oldest) as oldest
      from (select r.queue, r.runs as ready, r.oldest, 0 as running, 0 as dead from (%s) r %s) x
      group by x.queue) p on p.queue = q.name
    where q.name <> '*' and ($1 is null or q.name = $1)
    order by q.name$q$, tock.ready_statement(tock.news_epochs()), v_unfinished)
  using p_queue;
end $$;

comment on function tock.queue_stats is 'How many tasks of each queue are ready, running, waiting and dead, and since when the oldest ready one is; waiting is counted up to a million.';
