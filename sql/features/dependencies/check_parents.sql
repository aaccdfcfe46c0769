-- Releases children whose parents have ended and lets the others wait for one that has not; returns the
-- number released. The caller holds the row locks of the children. When children are cancelled because of a
-- parent, their own children are checked in turn, for up to a hundred generations; promotion checks later
-- ones.
create or replace function tock.check_parents(p_children bigint[], p_lock boolean default false)
returns integer language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_children bigint[] := p_children;
  v_open tock.dependent[];
  v_waits tock.dependent[];
  v_off tock.dependent[];
  v_free bigint[];
  v_count integer;
  v_freed integer := 0;
begin
  for v_round in 1 .. 100 loop
    -- at most 0.1 s, because a claim may be waiting for the promotion that calls this
    exit when v_children = '{}' or p_lock and pg_catalog.clock_timestamp() > v_now + interval '0.1 s';
    v_waits := '{}';
    v_off := '{}';
    if p_lock then
      -- the history of a child may be dropped before the last one ends
      perform tock.save_child_outcomes(array(
        select w.position from tock.waiting w
        where w.position = any (v_children) and w.due_after_parents is not null and w.options ? 'wake_at'));
    end if;
    v_children := tock.not_cancelled(v_children);
    -- an expired child becomes a run, which claims skip; a suspended one continues when a step is due
    v_free := array(
      select w.position from tock.waiting w where w.position = any (v_children)
        and w.due_after_parents is not null
        and least((w.options ->> 'expires_at')::timestamptz, (w.options ->> 'wake_at')::timestamptz)
          <= pg_catalog.clock_timestamp());
    v_count := 1;
    v_open := array(
      select row(w.position, coalesce(
        (select x.n from tock.dependency_waits x where x.child = w.position limit 1),
        pg_catalog.jsonb_array_length(w.options -> 'depends_on')), null, null, null, null)::tock.dependent
      from tock.waiting w where w.position = any (v_children) and w.due_after_parents is not null
        and w.position <> all (v_free));
    while pg_catalog.cardinality(v_open) > 0 loop
      v_open := tock.next_parents(v_open, v_count, p_lock);
      v_count := v_count * 10;
      v_waits := v_waits || array(select o from unnest(v_open) o where o.verdict = 'watch');
      v_off := v_off || array(select o from unnest(v_open) o where o.verdict = 'cancel');
      v_free := v_free || array(select o.position from unnest(v_open) o
        where o.verdict is null and o.upto = 0);
      v_open := array(select o from unnest(v_open) o where o.verdict is null and o.upto > 0);
    end loop;
    perform tock.wait_for_parents(v_waits);
    if p_lock then
      v_off := v_off || tock.find_cycles(v_waits);
    end if;
    perform tock.release_dependents(v_free);
    v_freed := v_freed + pg_catalog.cardinality(v_free);
    v_children := tock.cancel_dependents(v_off);
  end loop;
  perform tock.schedule_recheck(v_children);
  return v_freed;
end $$;

-- Releases children whose parents have ended: they are ready, wait for their concurrency key, or wait for
-- their time.
create or replace function tock.release_dependents(p_children bigint[])
returns void language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_keyed bigint[];
  v_ready bigint[];
begin
  if pg_catalog.cardinality(p_children) = 0 then
    return;
  end if;
  delete from tock.dependency_waits x where x.child = any (p_children);
  perform tock.include_results(array(
    select w.position from tock.waiting w where w.position = any (p_children)
      and w.options ?| '{include_results,resume}' and not w.options ? 'wake_at' and w.bytes >= 0));
  perform tock.save_child_outcomes(array(
    select w.position from tock.waiting w
    where w.position = any (p_children) and w.options ? 'wake_at'));
  -- From now on max_wait_seconds of the queue counts, unless the task has started before. A child that is
  -- ready now gets the due time infinity, for which make_ready() stores a promotion at -infinity. With the
  -- time now, the next promotion would start there and miss rows that were due shortly before.
  update tock.waiting w set due_at = case when w.concurrency_key is null and w.due_after_parents <= v_now
    then 'infinity' else w.due_after_parents end,
    due_after_parents = null, waits_for = null,
    options = case when w.options ?| '{expires_at,resume,suspended}' then w.options
    else w.options || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('expires_at',
      greatest(w.due_after_parents, v_now) + (tock.policy(w.queue)).max_wait_seconds
        * interval '1 second')) end
  where w.position = any (p_children);
  -- the children of these tasks must learn that their parent may now expire
  perform tock.schedule_recheck(array(
    select x.child from tock.waiting w
    cross join lateral (
      select x.child from tock.dependency_waits x
      where x.stream = 0 and x.position = w.position limit 10000) x
    where w.position = any (p_children) and w.options ? 'expires_at'));
  select pg_catalog.array_agg(w.position) filter (where w.due_at = 'infinity'),
      pg_catalog.array_agg(w.position) filter (where w.concurrency_key is not null and w.due_at <= v_now)
        into v_ready, v_keyed
  from tock.waiting w where w.position = any (p_children);
  if v_ready is not null then
    perform tock.make_ready(v_ready);
  end if;
  perform tock.join_wait_lists(coalesce(v_keyed, '{}'));
end $$;

-- Cancels children because of a parent that failed, and returns their own children to check, locked. The
-- reason is stored in the options of the cancelled run.
create or replace function tock.cancel_dependents(p_off tock.dependent[])
returns bigint[] language plpgsql volatile as $$
declare
  v_children bigint[] := array(select o.position from unnest(p_off) o);
begin
  if v_children = '{}' then
    return v_children;
  end if;
  delete from tock.dependency_waits x where x.child = any (v_children);
  update tock.waiting w set options = w.options || pg_catalog.jsonb_build_object('cancelled_for',
    pg_catalog.jsonb_build_object('id', o.parent::text, 'state', coalesce(o.state, 'gone')))
  from unnest(p_off) o where w.position = any (array[o.position]);
  perform tock.make_ready(v_children, true);
  return tock.lock_dependents(array(
    select distinct x.child
    from unnest(v_children) c
    join tock.promotions p on p.position = any (array[c])
    cross join lateral (
      select x.child from tock.dependency_waits x
      where x.stream = tock.stream_of(p.run_id) and x.position = tock.position_of(p.run_id) offset 0) x));
end $$;

-- Children without those that were cancelled while their last run was being completed; these are ended. A
-- cancellation may have been committed while the last attempt of the task was ending.
create or replace function tock.not_cancelled(p_children bigint[])
returns bigint[] language plpgsql volatile as $$
declare
  v_tasks bigint[] := array(
    select w.task_id from tock.waiting w
    where w.position = any (p_children) and w.due_after_parents is not null and w.task_id is not null);
  v_off bigint[];
begin
  if v_tasks = '{}' then
    return p_children;
  end if;
  v_off := array(
    select w.position from tock.waiting w
    where w.position = any (p_children) and w.due_after_parents is not null and w.task_id in (
      select i.id from unnest(tock.pending_changes(v_tasks)) i where i.cancelled));
  if v_off = '{}' then
    return p_children;
  end if;
  perform tock.make_ready(v_off, true);
  return array(select unnest(p_children) except select unnest(v_off));
end $$;
