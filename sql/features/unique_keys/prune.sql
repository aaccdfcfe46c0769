-- Deletes unique keys whose tasks ended longer ago than the retention of their queue, among p_limit of that
-- age; returns the number. A key stays for the retention of its queue after its row was written, at least a
-- day, and longer while its task is unfinished or its period lasts. Such a row is checked again only after
-- the same time, so that it does not delay others.
create or replace function tock.prune_unique_keys(p_limit integer)
returns integer language plpgsql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_queue text := '';
  v_old tock.unique_keys[] := '{}';
  v_at tock.resolved_task;
  v_open boolean[];
  v_places tid[] := '{}';
  v_kept tid[] := '{}';
  v_gone tid[] := '{}';
begin
  loop
    v_queue := (
      select k.queue from tock.unique_keys k where k.queue > v_queue
      order by k.queue, k.unique_key, k.number limit 1);
    exit when v_queue is null or pg_catalog.cardinality(v_old) >= p_limit;
    select v_old || coalesce(pg_catalog.array_agg(l.k), '{}'),
        v_places || coalesce(pg_catalog.array_agg(l.place), '{}')
      into v_old, v_places
    from (select k::tock.unique_keys, k.ctid as place from tock.unique_keys k
      where k.queue = v_queue and k.number > 0
        and k.written_at < v_now - greatest((tock.policy(v_queue)).retention_seconds, 86400)
          * interval '1 second'
      order by k.queue, k.written_at limit p_limit - pg_catalog.cardinality(v_old) for update skip locked) l;
  end loop;
  v_open := pg_catalog.array_fill(false, array[pg_catalog.cardinality(v_old)]);
  for v_at in select w.* from tock.resolve_tasks(array(
    select o.task_id from unnest(v_old) with ordinality o order by o.ordinality)) w
  loop
    v_open[v_at.n] := v_at.state in ('waiting', 'ready', 'running');
  end loop;
  for v_n in 1 .. pg_catalog.cardinality(v_old) loop
    if v_open[v_n] or v_old[v_n].until >= v_now then
      v_kept := v_kept || v_places[v_n];
    else
      v_gone := v_gone || v_places[v_n];
    end if;
  end loop;
  delete from tock.unique_keys k where k.ctid = any (v_gone);
  update tock.unique_keys k set written_at = v_now where k.ctid = any (v_kept);
  return pg_catalog.cardinality(v_gone);
end $$;
