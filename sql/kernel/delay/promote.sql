-- Promotion starts at the newest due time that was promoted: while an old transaction is open, the index
-- below it is full of dead entries. A task that is committed after its due time lies below that point, and a
-- sweep finds it. A task with a concurrency key waits even if it is due at once, so it is often committed
-- late. If there are concurrency keys, promotion starts a little lower (late_from()).
create or replace function tock.promote(p_limit integer default 1000, p_sweep boolean default false)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_from timestamptz := '-infinity';
  v_due bigint[];
  v_keyed bigint[];
  v_children bigint[];
  v_count integer;
  v_tasks bigint[];
  v_off bigint[] := '{}';
  v_behind bigint[];
begin
  if p_limit < 0 then
    perform tock.refuse(422, 'p_limit must not be negative', 'p_limit');
  end if;
  perform tock.before_promotion(p_sweep);
  if not p_sweep then
    v_from := coalesce(
      (select tock.late_from() from tock.concurrency_keys g order by g.queue, g.concurrency_key limit 1),
      (select p.due_at from tock.promotions p order by p.due_at desc limit 1), v_from);
  end if;
  select pg_catalog.array_agg(d.position) filter (where d.due_after_parents is null),
      pg_catalog.array_agg(d.position)
        filter (where d.concurrency_key is not null and d.due_after_parents is null),
      pg_catalog.array_agg(d.position) filter (where d.due_after_parents is not null)
    into v_due, v_keyed, v_children
  from (
    select w.position, w.concurrency_key, w.due_after_parents from tock.waiting w
    where w.lost >= 0 and w.due_at <= v_now and w.due_at >= v_from
    order by w.due_at, w.position limit p_limit for update skip locked) d;
  v_behind := tock.held_back(v_keyed, v_from);
  if v_behind <> '{}' then
    v_keyed := array(select unnest(v_keyed) except select unnest(v_behind));
    -- while another transaction is open, the held-back tasks may be all that the query found: read others too
    v_due := array(select unnest(v_due) except select unnest(v_behind)) || array(
      select w.position from tock.waiting w
      where w.lost >= 0 and w.due_at <= v_now and w.due_at >= v_from and w.concurrency_key is null
        and w.due_after_parents is null and w.position <> all (v_due)
      order by w.due_at, w.position limit p_limit for update skip locked);
  end if;
  v_count := coalesce(pg_catalog.cardinality(v_due), 0);
  if v_children is not null then
    v_count := v_count + tock.on_dependents_due(v_children);
  end if;
  if coalesce(v_due, '{}') = '{}' then
    return v_count + case when p_sweep then tock.after_sweep() else 0 end;
  end if;
  -- cancelled while the last attempt was ending
  v_tasks := array(
    select w.id from unnest(tock.pending_changes(array(
      select distinct w.task_id from tock.waiting w
      where w.position = any (v_due) and w.task_id is not null))) w
    where w.cancelled);
  if pg_catalog.cardinality(v_tasks) > 0 then
    v_off := array(select w.position from tock.waiting w
      where w.position = any (v_due) and w.task_id = any (v_tasks));
    perform tock.make_ready(v_off, true);
  end if;
  v_due := array(select d from unnest(v_due) d where d <> all (v_off));
  if v_keyed is not null then
    v_keyed := array(select g from unnest(v_keyed) g where g <> all (v_off));
    v_due := array(select unnest(v_due) except select unnest(v_keyed));
    perform tock.on_concurrency_keys_due(v_keyed);
  end if;
  if pg_catalog.cardinality(v_due) > 0 then
    perform tock.make_ready(v_due);
  end if;
  if p_sweep then
    perform tock.after_sweep();
  end if;
  return v_count;
end $$;

comment on function tock.promote is
  'Makes up to p_limit due tasks ready, earliest first; returns the number. p_sweep reads all due tasks.';

-- The due time from which promotion looks for tasks with concurrency keys that were committed late: the
-- fiftieth newest promoted one. A promotion stands for up to ten dead entries in the index on due_at
-- (promote_from()). Promotion reads those of the fifty newest promotions again, so about 500 entries, even
-- while an old transaction is open. It does so only if there are concurrency keys.
create or replace function tock.late_from()
returns timestamptz language plpgsql volatile as $$
begin
  return (
    select min(n.due_at) from (
      select p.due_at from tock.promotions p where p.due_at > '-infinity' order by p.due_at desc limit 50) n);
end $$;
