-- A task with parents stays in tock.waiting and waits for one parent that has not ended: the last in its
-- list, since parents enqueued last mostly end last. When that parent ends or continues as another run, the
-- ending call checks the child, which becomes ready or waits for the next parent. So few of ten thousand
-- parents are checked twice, and they do not all write one row. That check may miss a parent that ends at the
-- same moment, in another transaction; a recheck finds it. The first recheck comes after a tenth of a second.
-- While another transaction may be ending the parent (may_be_ending()), further ones come every second.
-- Otherwise the interval grows with the time that the child has waited for this parent, up to an hour.
-- Promotion makes these rechecks.

-- The states of tasks, or of their last reruns: the newest run or waiting row, the state, and whether a
-- cancelled or expired one is certain never to start; unknown tasks are left out. The last rerun of a failed
-- task counts in place of the task. will_not_start() decides whether a cancelled or expired run has ended, as
-- for concurrency keys. p_lock lets it lock the stream; with p_lock null it is not called. A task that was
-- cancelled because of a parent was never claimed, so it needs no such check.
create or replace function tock.final_states_of(
  p_ids bigint[], p_lock boolean, p_from bigint[] default null, out id bigint, out current_id bigint,
  out state text, out sure boolean)
returns setof record language plpgsql volatile rows 1000 as $$
declare
  v_tasks tock.resolved_task[] := array(
    select w from tock.resolve_tasks(array(
      select coalesce(p_from[i.n], i.id) from unnest(p_ids) with ordinality i (id, n) order by i.n)) w);
  v_again tock.resolved_task[];
  v_later tock.resolved_task[];
begin
  loop
    v_again := array(
      select row(f.n, r.id, null, null, null)::tock.resolved_task
      from unnest(v_tasks) f
      cross join lateral (
        select r.id from tock.reruns r where r.of_id = f.task_id
        order by r.of_id desc, r.number desc limit 1) r
      where f.state in ('dead', 'cancelled', 'expired'));
    exit when v_again = '{}';
    v_later := array(
      select row(a.n, w.task_id, w.current_id, w.state, w.queue)::tock.resolved_task
      from tock.resolve_tasks(array(select a.task_id
        from unnest(v_again) with ordinality a (n, task_id, c, s, q, k) order by a.k)) w
      join unnest(v_again) with ordinality a (n, task_id, c, s, q, k) on a.k = w.n);
    v_tasks := array(select f from unnest(v_tasks) f
      where f.n not in (select a.n from unnest(v_again) a)) || v_later;
  end loop;
  return query
    select p_ids[f.n], f.current_id, f.state, f.state not in ('cancelled', 'expired') or p_lock is null
      or coalesce((tock.run_at(f.current_id)).options ? 'cancelled_for', false)
      or tock.will_not_start(f.current_id, p_lock)
    from unnest(v_tasks) f;
end $$;

-- The last p_count ids of a list up to the p_upto-th; a single one is found without expanding the list.
create or replace function tock.last_parents(
  p_after jsonb, p_upto integer, p_count integer, out id text, out n bigint)
returns setof record language plpgsql immutable rows 10 as $$
begin
  if p_count = 1 then
    return query select p_after ->> p_upto - 1, p_upto::bigint where p_upto > 0;
  else
    return query
      select a.id, a.n from pg_catalog.jsonb_array_elements_text(p_after) with ordinality a (id, n)
      where a.n <= p_upto and a.n > p_upto - p_count;
  end if;
end $$;

-- Checks the next p_count parents of children, from the end of their lists: which one is not over, or how
-- many are left.
create or replace function tock.next_parents(p_open tock.dependent[], p_count integer, p_lock boolean)
returns tock.dependent[] language plpgsql volatile as $$
declare
  v_parents bigint[] := array(
    select distinct a.id::bigint
    from unnest(p_open) o join tock.waiting w on w.position = any (array[o.position])
    cross join lateral tock.last_parents(w.options -> 'depends_on', o.upto, p_count) a
    order by 1);
  v_from bigint[];
begin
  if p_count = 1 then
    v_from := tock.awaited_runs(v_parents, array(select o.position from unnest(p_open) o));
  end if;
  return array(
    with ends as materialized (
      select e.* from tock.final_states_of(v_parents, p_lock, v_from) e
    ), judged as (
      select o.position, a.n, a.id::bigint as parent, e.current_id, case when e.sure is not false then e.state
        else 'unsure' end as state,
        case when e.state in ('waiting', 'ready', 'running') or not e.sure then 'watch'
          when e.state = 'done' or w.options ->> 'on_parent_failure' = 'run' then 'over'
          when w.options ->> 'on_parent_failure' = 'wait' and e.state is not null then 'watch'
          -- its history is gone; this cannot be the awaited parent, whose end would be known
          when e.state is null
            and not (p_count = 1 and w.options ->> 'on_parent_failure' = 'wait') then 'over'
          else 'cancel' end as verdict
      from unnest(p_open) o join tock.waiting w on w.position = any (array[o.position])
      cross join lateral tock.last_parents(w.options -> 'depends_on', o.upto, p_count) a
      left join ends e on e.id = a.id::bigint
    ), first as (
      select distinct on (j.position) j.* from judged j where j.verdict <> 'over'
      order by j.position, j.n desc)
    select row(o.position, coalesce(f.n, greatest(o.upto - p_count, 0)), f.verdict, f.parent, f.current_id,
      f.state)::tock.dependent
    from unnest(p_open) o left join first f on f.position = o.position);
end $$;

-- The final states of tasks or of their last reruns, with n in their order.
create or replace function tock.final_states_in_order(p_ids bigint[])
returns tock.resolved_task[] language plpgsql volatile as $$
begin
  return tock.in_order_of(p_ids, array(select row(null, e.id, e.current_id, e.state, null)::tock.resolved_task
    from tock.final_states_of(p_ids, null) e));
end $$;

-- The resolved tasks in the order of these ids. This join is a function of its own, without nested loops: a
-- generic plan would compare each of 10,000 ids with each row.
create or replace function tock.in_order_of(p_ids bigint[], p_ends tock.resolved_task[])
returns tock.resolved_task[] language plpgsql stable
set enable_nestloop = off as $$
begin
  return array(
    select row(i.n, e.task_id, e.current_id, e.state, null)::tock.resolved_task
    from unnest(p_ids) with ordinality i (id, n) join unnest(p_ends) e on e.task_id = i.id order by i.n);
end $$;

-- The runs of these parents for which children wait; null for the others, or instead of the array. A recheck
-- starts at the runs that the children wait for, so it need not follow all earlier runs of a parent.
create or replace function tock.awaited_runs(p_parents bigint[], p_children bigint[])
returns bigint[] language plpgsql volatile as $$
declare
  v_awaited bigint[] := array(
    -- waiting_since is in no index, so no index alone can answer this: see tock.waiting in 0004_delayed.sql
    select distinct tock.id_at(x.position, x.stream)
    from unnest(p_children) c join tock.dependency_waits x on x.child = any (array[c])
    where x.waiting_since < 'infinity' and x.stream <> 0
      and tock.id_at(x.position, x.stream) <> all (p_parents));
begin
  if v_awaited = '{}' then
    return null;
  end if;
  return array(
    select max(r.id) from unnest(p_parents) with ordinality p (id, n)
    left join tock.stored_runs(v_awaited) r on r.task_id = p.id
    group by p.n order by p.n);
end $$;
