-- Records, grouped by error, the final runs of tasks of these queues that failed or were lost in this
-- transaction. Two calls may end the same run. ended_at equals now() only in the transaction that wrote the
-- result.
create or replace function tock.add_dead_task_events_{segment}(p_ended tock.ending[], p_queues text[])
returns void language plpgsql volatile
set plan_cache_mode = force_custom_plan as $$
begin
  insert into tock.dead_task_events (queue, error, deaths, ids)
  select d.queue, d.error, count(*), (pg_catalog.array_agg(d.id order by d.id))[1:10]
  from (
    select s.queue, tock.error_text(r.error) as error,
      coalesce(t.task_id, tock.id_at(e.position, e.stream)) as id
    from unnest(p_ended) e
    join tock.streams s on s.number = e.stream and s.queue = any (p_queues)
    cross join lateral (
      select r.error from tock.results_{segment} r
      where r.stream = e.stream and r.position = e.position and r.next_id is null
        and r.state in ('failed', 'lost')
        and r.ended_at = pg_catalog.now()
      offset 0) r
    cross join lateral (
      select t.task_id from tock.runs_{segment} t
      where t.stream = e.stream and t.position = e.position offset 0) t) d
  group by d.queue, d.error;
end $$;
