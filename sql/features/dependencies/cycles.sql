-- The waiting tasks for which some tasks wait, as parents or as holders of their concurrency keys, and in
-- turn those for which these wait, through up to a thousand steps. Tasks in a cycle would wait for each other
-- for ever. A completion that would close a cycle fails. Two concurrent completions do not see each other,
-- and a task may start to wait for a parent later. Therefore promotion looks for cycles too (find_cycles()),
-- and cancels the youngest task of a cycle.
create or replace function tock.entries_waited_for(p_positions bigint[])
returns bigint[] language plpgsql volatile as $$
declare
  v_seen bigint[] := '{}';
  v_next bigint[] := p_positions;
begin
  for v_step in 1 .. 1000 loop
    v_next := array(
      select x.position from unnest(v_next) i (child)
      join tock.waiting w on w.position = any (array[i.child]) and w.due_after_parents is not null
      cross join lateral (select x.position from tock.dependency_waits x
        where x.child = i.child and x.stream = 0 offset 0) x
      where x.position <> all (v_seen)
      union
      select g.position
      from (
        select distinct w.queue, w.concurrency_key from unnest(v_next) i (child)
        join tock.waiting w on w.position = any (array[i.child]) and w.due_after_parents is null
          and w.concurrency_key is not null offset 0) s
      cross join lateral (select tock.sole_holder(s.queue, s.concurrency_key) as position offset 0) g
      where g.position is not null and g.position <> all (v_seen));
    exit when v_next = '{}';
    v_seen := v_seen || v_next;
  end loop;
  return v_seen;
end $$;

-- The waiting row of the only holder of a concurrency key with a limit of one. If a concurrency key admits
-- several tasks, no single holder blocks it.
create or replace function tock.sole_holder(p_queue text, p_concurrency_key text)
returns bigint language plpgsql volatile as $$
declare
  v_inside bigint[] := (
    select t.holders from tock.concurrency_admissions t
    where t.queue = p_queue and t.concurrency_key = p_concurrency_key
    order by t.queue desc, t.concurrency_key desc, t.number desc limit 1);
begin
  if coalesce(v_inside, '{}') = '{}' or 1 <> coalesce(
    (select g.concurrency_limit from tock.concurrency_keys g
     where g.queue = p_queue and g.concurrency_key = p_concurrency_key),
    case when p_concurrency_key like 'key:%' then 1 else (tock.policy(p_queue)).concurrency_limit end)
  then
    return null;
  end if;
  return (
    select case when count(*) = 1 then max(tock.position_of(w.current_id))
      filter (where w.state = 'waiting') end
    from tock.resolve_tasks(v_inside) w where w.state in ('waiting', 'ready', 'running'));
end $$;

-- The waiting task for which a waiting task waits, as a parent or as the holder of its concurrency key. At
-- most one: a child waits for one parent at a time.
create or replace function tock.entry_waited_for(p_position bigint)
returns bigint language plpgsql volatile as $$
declare
  v_row tock.waiting := (select w from tock.waiting w where w.position = p_position);
begin
  if v_row.due_after_parents is not null then
    return (
      select x.position from tock.dependency_waits x where x.child = p_position and x.stream = 0 limit 1);
  elsif v_row.concurrency_key is not null then
    return tock.sole_holder(v_row.queue, v_row.concurrency_key);
  end if;
  return null;
end $$;

-- The children among these that wait for themselves and are the youngest of their cycle. A child enqueued
-- after its parents is younger than they are. So the youngest task of a cycle is the parent of an older one,
-- which spawned it, or holds a concurrency key while it waits. Only such tasks are followed, through up to a
-- thousand rows for all children of a call, because a claim may be waiting. The others are checked at the
-- next recheck.
create or replace function tock.find_cycles(p_waits tock.dependent[])
returns tock.dependent[] language plpgsql volatile as $$
declare
  v_one tock.dependent;
  v_at bigint;
  v_passed bigint[];
  v_steps integer := 1000;
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '0.05 s';
  v_closing tock.dependent[] := '{}';
begin
  for v_one in
    select o.* from unnest(p_waits) o
    join tock.waiting w on w.position = any (array[o.position])
    where o.state = 'waiting'
      -- in the first second most waits end by themselves
      and (select x.child from tock.dependency_waits x where x.child = o.position
          and x.waiting_since < pg_catalog.clock_timestamp() - interval '1 second' limit 1) is not null
      and ((w.concurrency_key is not null and w.options ?| '{resume,keeps_key}')
        or (select x.child from tock.dependency_waits x where x.stream = 0 and x.position = o.position
          and x.child < o.position limit 1)
          is not null)
    order by pg_catalog.random()
  loop
    v_passed := '{}';
    v_at := v_one.position;
    loop
      v_at := tock.entry_waited_for(v_at);
      v_steps := v_steps - 1;
      if v_steps % 50 = 0 and pg_catalog.clock_timestamp() > v_until then
        v_steps := 0;
      end if;
      exit when v_at is null or v_at = any (v_passed) or v_steps <= 0;
      v_passed := v_passed || v_at;
      exit when v_at = v_one.position;
    end loop;
    if v_at = v_one.position and v_at = (
      select max(w.position) from tock.waiting w
      where w.position = any (v_passed) and w.due_after_parents is not null)
    then
      v_one.state := 'waiting for it';
      v_closing := v_closing || v_one;
    end if;
    exit when v_steps <= 0;
  end loop;
  return v_closing;
end $$;

-- Raises TK422 if a spawned task waits for the task that would wait for it.
create or replace function tock.refuse_self_wait(
  p_position bigint, p_ids bigint[], p_tasks jsonb, p_field text)
returns void language plpgsql volatile as $$
declare
  v_row tock.waiting;
  -- only these can wait; the other tasks were just appended as runs
  v_some bigint[] := array(
    select t.n from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
    where t.task ->> 'unique_key' is not null or p_ids[t.n] & 1048575 = 0 order by t.n);
  v_ats tock.resolved_task[];
  v_half tock.resolved_task[];
  v_at tock.resolved_task;
begin
  select w.* into v_row from tock.waiting w where w.position = p_position and w.due_after_parents is not null;
  if not found or v_some = '{}' then
    return;
  end if;
  v_ats := array(
    select w from tock.resolve_tasks(array(select p_ids[s.n] from unnest(v_some) with ordinality s (n, k)
      order by s.k)) w
    where w.state = 'waiting' order by w.n);
  foreach v_at in array v_ats loop
    if tock.position_of(v_at.current_id) = p_position then
      perform tock.refuse(422, 'the unique_key of this task names the task that would wait for it',
        pg_catalog.format('%s[%s].unique_key', p_field, v_some[v_at.n] - 1),
        'leave out wait or the unique_key');
    elsif exists (
      select from tock.waiting w where w.position = tock.position_of(v_at.current_id)
        and w.concurrency_key = v_row.concurrency_key
        and w.queue = v_row.queue)
    then
      perform tock.refuse(422,
        'this task waits for a concurrency key whose holder would wait for this task',
        pg_catalog.format('%s[%s].concurrency_key', p_field, v_some[v_at.n] - 1),
        'a waiting task keeps its concurrency key: leave out wait, or use another '
        'concurrency key');
    end if;
  end loop;
  if not p_position = any (
    tock.entries_waited_for(array(select tock.position_of(a.current_id) from unnest(v_ats) a)))
  then
    return;
  end if;
  -- find the task by bisection: behind each, a thousand tasks may have to be followed
  while pg_catalog.cardinality(v_ats) > 1 loop
    v_half := v_ats[1 : pg_catalog.cardinality(v_ats) / 2];
    v_ats := case when p_position
      = any (tock.entries_waited_for(array(select tock.position_of(a.current_id) from unnest(v_half) a)))
      then v_half else v_ats[pg_catalog.cardinality(v_half) + 1 :] end;
  end loop;
  perform tock.refuse(422, 'this task waits for the task that would wait for it',
    pg_catalog.format('%s[%s]', p_field, v_some[v_ats[1].n] - 1),
    'leave out wait, or its depends_on');
end $$;
