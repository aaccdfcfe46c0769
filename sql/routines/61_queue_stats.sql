-- Reads only what is unfinished; what died in settled epochs was counted when they were settled. ready
-- counts up to a million a stream, above that it is a floor.
create or replace function tock.queue_stats(p_queue text default null)
returns table (
  queue text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint, oldest_ready_at timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_hot tock.epochs;
  v_epoch integer;
  v_behind jsonb;
  v_part jsonb;
  v_parts jsonb := '[]';
begin
  select e.* into v_hot from tock.epochs e where e.number = tock.newest_epoch();
  v_behind := (
    select coalesce(pg_catalog.jsonb_object_agg(s.number, tock.cursor_of(s.number)), '{}') from tock.streams s
    where s.awake and s.start_after < v_hot.first_position - 1 and (p_queue is null or s.queue = p_queue));
  foreach v_epoch in array tock.unsettled_epochs() loop
    execute pg_catalog.format($q$
      with ready as (
        select s.queue, sum(r.runs) as runs, min(r.oldest) as oldest
        from tock.streams s
        cross join lateral (
          select coalesce(($2 ->> s.number::text)::bigint, greatest(s.start_after, coalesce((
            select l.last_position from tock.leases_%1$s l where l.stream = s.number
            order by l.stream desc, l.after_position desc limit 1), 0))) as after_position
          where $2 ? s.number::text or s.start_after >= $3 - 1 offset 0) c
        cross join lateral (
          select count(*) - (
              select count(distinct m.position) from tock.marks_%1$s m
              where m.stream = s.number and m.position > c.after_position and m.kind in ('cancelled', 'superseded')) as runs,
            min(n.oldest) as oldest
          from (
            select case when row_number() over (order by r.position) = 1 then r.created_at end as oldest
            from tock.runs_%1$s r where r.stream = s.number and r.position > c.after_position
            order by r.position limit 1000000) n) r
        where s.awake and ($1 is null or s.queue = $1)
        group by s.queue
      ), running as (
        select s.queue, sum(l.runs - (
          select count(*) from tock.results_%1$s e
          where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)) as runs
        from tock.leases_%1$s l join tock.streams s on s.number = l.stream
        where l.closed_at is null and ($1 is null or s.queue = $1)
        group by s.queue
      ), dead as (
        select d.key as queue, d.value::bigint as runs from pg_catalog.jsonb_each_text(tock.dead_in(%1$s)) d
      )
      select coalesce(pg_catalog.jsonb_agg(p), '[]') from (
        select r.queue, r.runs as ready, r.oldest, 0 as running, 0 as dead from ready r
        union all select u.queue, 0, null, u.runs, 0 from running u
        union all select d.queue, 0, null, 0, d.runs from dead d where $1 is null or d.queue = $1) p$q$, v_epoch)
      into v_part using p_queue, v_behind, v_hot.first_position;
    v_parts := v_parts || v_part;
  end loop;
  return query
    select q.name, tock.is_paused(q), coalesce(p.ready, 0)::bigint, coalesce(p.running, 0)::bigint,
      (select count(*) from tock.waiting w where w.queue = q.name),
      (coalesce(p.dead, 0) + coalesce((
        select sum((e.dead ->> q.name)::bigint) from tock.epochs e where e.settled_at is not null), 0))::bigint, p.oldest
    from tock.queues q
    left join (
      select x.queue, sum(greatest(x.ready, 0)) as ready, sum(x.running) as running, sum(x.dead) as dead, min(x.oldest) as oldest
      from pg_catalog.jsonb_to_recordset(v_parts)
        x (queue text, ready bigint, oldest timestamptz, running bigint, dead bigint)
      group by x.queue) p on p.queue = q.name
    where q.name <> '*' and (p_queue is null or q.name = p_queue)
    order by q.name;
end $$;

comment on function tock.queue_stats is 'How many tasks of each queue are ready, running, waiting and dead, and since when the oldest ready one is there.';
