-- A task that comes after others stands in waiting, and dependency_waits one of those that have not ended:
-- the last of them in its list, as what was enqueued last mostly ends last. When that one ends, or goes on as
-- another run, whoever ended it looks at the child, which becomes ready or dependency_waits the next: so of
-- ten thousand parents few are looked at twice, and none has a row that all of them would write. What ends at
-- the same moment, in a transaction that the look doesn't see, is seen by a later look: the child is due for
-- one a tenth of a second later, each second while somebody holds what it dependency_waits (may_be_ending()),
-- and else after as long as it has watched the same one, up to an hour. Promotion makes these looks.

-- A task that was run again stands for the one that didn't end well. Whether a cancelled or expired run is
-- over is asked as for concurrency keys; p_lock lets that take its stream's lock, and null leaves it open.
-- What was cancelled for its parents never was anybody's.
create or replace function tock.final_states_of(
  p_ids bigint[], p_lock boolean, p_from bigint[] default null, out id bigint, out current_id bigint,
  out state text, out sure boolean)
returns setof record
language plpgsql
volatile
rows 1000
as $$
declare
  v_found tock.resolved_task[] := array(
    select w from tock.resolve_tasks(array(
      select coalesce(p_from[i.n], i.id) from unnest(p_ids) with ordinality i (id, n) order by i.n)) w);
  v_again tock.resolved_task[];
  v_later tock.resolved_task[];
begin
  loop
    v_again := array(
      select row(f.n, r.id, null, null, null)::tock.resolved_task
      from unnest(v_found) f
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
    v_found := array(select f from unnest(v_found) f
      where f.n not in (select a.n from unnest(v_again) a)) || v_later;
  end loop;
  return query
    select p_ids[f.n], f.current_id, f.state, f.state not in ('cancelled', 'expired') or p_lock is null
      or coalesce((tock.run_at(f.current_id)).options ? 'cancelled_for', false)
      or tock.will_not_start(f.current_id, p_lock)
    from unnest(v_found) f;
end $$;

comment on function tock.final_states_of is
  'How tasks stand, or what they were run again as: the newest run or waiting entry, the state, and whether '
  'that is for good where it says cancelled or expired; unknown ones are left out.';

create or replace function tock.last_parents(
  p_after jsonb, p_upto integer, p_count integer, out id text, out n bigint)
returns setof record
language plpgsql
immutable
rows 10
as $$
begin
  if p_count = 1 then
    return query select p_after ->> p_upto - 1, p_upto::bigint where p_upto > 0;
  else
    return query
      select a.id, a.n from pg_catalog.jsonb_array_elements_text(p_after) with ordinality a (id, n)
      where a.n <= p_upto and a.n > p_upto - p_count;
  end if;
end $$;

comment on function tock.last_parents is
  'So many ids of a list up to the p_upto-th; one is found without taking the list apart.';

create or replace function tock.next_parents(p_open tock.dependent[], p_count integer, p_lock boolean)
returns tock.dependent[]
language plpgsql
volatile
as $$
declare
  v_parents bigint[] := array(
    select distinct a.id::bigint
    from unnest(p_open) o join tock.waiting w on w.position = o.position
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
          -- its history is gone: not of the one that was watched, or it would be known how it ended
          when e.state is null
            and not (p_count = 1 and w.options ->> 'on_parent_failure' = 'wait') then 'over'
          else 'cancel' end as verdict
      from unnest(p_open) o join tock.waiting w on w.position = o.position
      cross join lateral tock.last_parents(w.options -> 'depends_on', o.upto, p_count) a
      left join ends e on e.id = a.id::bigint
    ), first as (
      select distinct on (j.position) j.* from judged j where j.verdict <> 'over'
      order by j.position, j.n desc)
    select row(o.position, coalesce(f.n, greatest(o.upto - p_count, 0)), f.verdict, f.parent, f.current_id,
      f.state)::tock.dependent
    from unnest(p_open) o left join first f on f.position = o.position);
end $$;

comment on function tock.next_parents is
  'Looks at the next p_count parents of children, from the end of their lists: which one is in the way, '
  'or how many are left.';

create or replace function tock.final_states_in_order(p_ids bigint[])
returns tock.resolved_task[]
language plpgsql
volatile
as $$
begin
  return tock.in_order_of(p_ids, array(select row(null, e.id, e.current_id, e.state, null)::tock.resolved_task
    from tock.final_states_of(p_ids, null) e));
end $$;

comment on function tock.final_states_in_order is
  'How tasks ended, or what they were run again as: n in their order.';

-- Nothing but this join: a plan for any number of ids would compare each of ten thousand with each.
create or replace function tock.in_order_of(p_ids bigint[], p_ends tock.resolved_task[])
returns tock.resolved_task[]
language plpgsql
stable
set enable_nestloop = off
as $$
begin
  return array(
    select row(i.n, e.task_id, e.current_id, e.state, null)::tock.resolved_task
    from unnest(p_ids) with ordinality i (id, n) join unnest(p_ends) e on e.task_id = i.id order by i.n);
end $$;

comment on function tock.in_order_of is 'The resolve_tasks of tasks in the order of these ids.';

-- Of a parent with many runs behind it, so that each look doesn't go through all of them.
create or replace function tock.awaited_runs(p_parents bigint[], p_children bigint[])
returns bigint[]
language plpgsql
volatile
as $$
declare
  v_awaited bigint[] := array(
    select distinct tock.id_at(x.position, x.stream) from tock.dependency_waits x
    where x.child = any (p_children) and x.stream <> 0
      and tock.id_at(x.position, x.stream) <> all (p_parents));
  v_links tock.resolved_task[] := '{}';
  v_part tock.resolved_task[];
  v_segment integer;
begin
  if v_awaited = '{}' then
    return null;
  end if;
  for v_segment in
    select distinct tock.segment_of(tock.position_of(i)) from unnest(v_awaited) i
    where tock.segment_of(tock.position_of(i)) is not null
  loop
    execute pg_catalog.format($q$
      select array(
        select row(null, r.task_id, i, null, null)::tock.resolved_task from unnest($1) i
        cross join lateral (
          select r.task_id from tock.runs_%s r where r.stream = tock.stream_of(i)
            and r.position = tock.position_of(i) offset 0) r)$q$, v_segment)
      into v_part using v_awaited;
    v_links := v_links || v_part;
  end loop;
  return array(
    select max(l.current_id) from unnest(p_parents) with ordinality p (id, n)
    left join unnest(v_links) l on l.task_id = p.id
    group by p.n order by p.n);
end $$;

comment on function tock.awaited_runs is
  'Which runs of these parents children watch; null for the others, or in place of all.';
