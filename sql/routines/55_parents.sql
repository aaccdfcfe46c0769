-- A task that comes after others stands in waiting, and watches one of those that have not ended: the last of them
-- in its list, as what was enqueued last mostly ends last. When that one ends, or goes on as another run, whoever
-- ended it looks at the child, which becomes ready or watches the next: so of ten thousand parents few are looked
-- at twice, and none has a row that all of them would write. What ends at the same moment, in a transaction that
-- the look doesn't see, is seen by a later look: the child is due for one a tenth of a second later, each second while
-- somebody holds what it watches (being_ended()), and else after as long as it has watched the same one, up to an hour.
-- Promotion makes these looks.

-- A task that was run again stands for the one that didn't end well. Whether a cancelled or expired run is over is
-- asked as for gates; p_lock lets that take its stream's lock, and null leaves it open. What was cancelled for its parents never was anybody's.
create or replace function tock.ends_of(p_ids bigint[], p_lock boolean, p_from bigint[] default null, out id bigint, out current_id bigint, out state text, out sure boolean)
returns setof record
language plpgsql
volatile
rows 1000
as $$
declare
  v_found tock.whereabout[] := array(select w from tock.whereabouts(p_ids, p_from) w);
  v_again tock.whereabout[];
  v_later tock.whereabout[];
begin
  loop
    v_again := array(
      select row(f.n, r.id, null, null, null)::tock.whereabout
      from unnest(v_found) f
      cross join lateral (
        select r.id from tock.reruns r where r.of_id = f.task_id order by r.of_id desc, r.number desc limit 1) r
      where f.state in ('dead', 'cancelled', 'expired'));
    exit when v_again = '{}';
    v_later := array(
      select row(a.n, w.task_id, w.current_id, w.state, w.queue)::tock.whereabout
      from tock.whereabouts(array(select a.task_id from unnest(v_again) with ordinality a (n, task_id, c, s, q, k) order by a.k)) w
      join unnest(v_again) with ordinality a (n, task_id, c, s, q, k) on a.k = w.n);
    v_found := array(select f from unnest(v_found) f where f.n not in (select a.n from unnest(v_again) a)) || v_later;
  end loop;
  return query
    select p_ids[f.n], f.current_id, f.state, f.state not in ('cancelled', 'expired') or p_lock is null
      or coalesce((tock.run_at(f.current_id)).options ? 'cancelled_for', false) or tock.never_starts(f.current_id, p_lock)
    from unnest(v_found) f;
end $$;

comment on function tock.ends_of is 'How tasks stand, or what they were run again as: the newest run or waiting entry, the state, and whether that is for good where it says cancelled or expired; unknown ones are left out.';

create or replace function tock.last_parents(p_after jsonb, p_upto integer, p_count integer, out id text, out n bigint)
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

comment on function tock.last_parents is 'So many ids of a list up to the p_upto-th; one is found without taking the list apart.';

create or replace function tock.next_parents(p_open tock.dependent[], p_count integer, p_lock boolean)
returns tock.dependent[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_parents bigint[] := array(
    select distinct a.id::bigint
    from unnest(p_open) o join tock.waiting w on w.position = o.position
    cross join lateral tock.last_parents(w.options -> 'after', o.upto, p_count) a
    order by 1);
  v_from bigint[];
begin
  if p_count = 1 then
    v_from := tock.watched_runs(v_parents, array(select o.position from unnest(p_open) o));
  end if;
  return array(
    with ends as materialized (
      select e.* from tock.ends_of(v_parents, p_lock, v_from) e
    ), judged as (
      select o.position, a.n, a.id::bigint as parent, e.current_id, case when e.sure is not false then e.state else 'unsure' end as state,
        case when e.state in ('waiting', 'ready', 'running') or not e.sure then 'watch'
          when e.state = 'done' or w.options ->> 'on_parent_failure' = 'run' then 'over'
          when w.options ->> 'on_parent_failure' = 'wait' and e.state is not null then 'watch'
          -- its history is gone: not of the one that was watched, or it would be known how it ended
          when e.state is null and not (p_count = 1 and w.options ->> 'on_parent_failure' = 'wait') then 'over'
          else 'cancel' end as verdict
      from unnest(p_open) o join tock.waiting w on w.position = o.position
      cross join lateral tock.last_parents(w.options -> 'after', o.upto, p_count) a
      left join ends e on e.id = a.id::bigint
    ), first as (
      select distinct on (j.position) j.* from judged j where j.verdict <> 'over' order by j.position, j.n desc)
    select row(o.position, coalesce(f.n, greatest(o.upto - p_count, 0)), f.verdict, f.parent, f.current_id, f.state)::tock.dependent
    from unnest(p_open) o left join first f on f.position = o.position);
end $$;

comment on function tock.next_parents is 'Looks at the next p_count parents of children, from the end of their lists: which one is in the way, or how many are left.';

-- The children's rows are locked by the caller. Those that are cancelled for their parents have their own children
-- looked at in turn, through up to a hundred generations; those after them by promotion.
create or replace function tock.look_at_parents(p_children bigint[], p_lock boolean default false)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_children bigint[] := p_children;
  v_open tock.dependent[];
  v_watch tock.dependent[];
  v_off tock.dependent[];
  v_free bigint[];
  v_count integer;
  v_freed integer := 0;
begin
  for v_round in 1 .. 100 loop
    -- a claim may be waiting for a promotion
    exit when v_children = '{}' or p_lock and pg_catalog.clock_timestamp() > v_now + interval '0.1 s';
    v_watch := '{}';
    v_off := '{}';
    v_children := tock.still_wanted(v_children);
    -- who has expired goes on, to be passed over
    v_free := array(
      select w.position from tock.waiting w where w.position = any (v_children) and w.after_due is not null
        and (w.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp());
    v_count := 1;
    v_open := array(
      select row(w.position, coalesce(
        (select x.n from tock.watches x where x.child = w.position limit 1),
        pg_catalog.jsonb_array_length(w.options -> 'after')), null, null, null, null)::tock.dependent
      from tock.waiting w where w.position = any (v_children) and w.after_due is not null and w.position <> all (v_free));
    while pg_catalog.cardinality(v_open) > 0 loop
      v_open := tock.next_parents(v_open, v_count, p_lock);
      v_count := v_count * 10;
      v_watch := v_watch || array(select o from unnest(v_open) o where o.verdict = 'watch');
      v_off := v_off || array(select o from unnest(v_open) o where o.verdict = 'cancel');
      v_free := v_free || array(select o.position from unnest(v_open) o where o.verdict is null and o.upto = 0);
      v_open := array(select o from unnest(v_open) o where o.verdict is null and o.upto > 0);
    end loop;
    perform tock.watch(v_watch);
    if p_lock then
      v_off := v_off || tock.closing_cycles(v_watch);
    end if;
    perform tock.set_free(v_free);
    v_freed := v_freed + pg_catalog.cardinality(v_free);
    v_children := tock.cancel_children(v_off);
  end loop;
  perform tock.look_soon(v_children);
  return v_freed;
end $$;

comment on function tock.look_at_parents is 'Has children whose parents are over come next, and the others watch one that isn''t; returns how many came to their turn.';

create or replace function tock.set_free(p_children bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_gated bigint[];
  v_ready bigint[];
begin
  if pg_catalog.cardinality(p_children) = 0 then
    return;
  end if;
  delete from tock.watches x where x.child = any (p_children);
  perform tock.gather(array(
    select w.position from tock.waiting w where w.position = any (p_children) and w.options ?| '{gather,resume}' and w.bytes >= 0));
  -- How long it may wait for its start counts from now on, if its queue says so and it has not started before. What is
  -- ready now is due at no time: its promotion then says that it was ready when it was promoted. (A time of now would
  -- have promotion read on from there, and pass what was due shortly before.)
  update tock.waiting w set due_at = case when w.gate is null and w.after_due <= v_now then 'infinity' else w.after_due end,
    after_due = null, options = case when w.options ?| '{expires_at,resume}' then w.options
    else w.options || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('expires_at',
      greatest(w.after_due, v_now) + (tock.policy(w.queue)).max_wait_seconds * interval '1 second')) end
  where w.position = any (p_children);
  -- those that wait for one of these hear that it may expire now
  perform tock.look_soon(array(
    select x.child from tock.waiting w
    cross join lateral (
      select x.child from tock.watches x where x.stream = 0 and x.position = w.position limit 10000) x
    where w.position = any (p_children) and w.options ? 'expires_at'));
  select pg_catalog.array_agg(w.position) filter (where w.due_at = 'infinity'),
      pg_catalog.array_agg(w.position) filter (where w.gate is not null and w.due_at <= v_now) into v_ready, v_gated
  from tock.waiting w where w.position = any (p_children);
  if v_ready is not null then
    perform tock.make_ready(v_ready);
  end if;
  perform tock.come_to_gates(coalesce(v_gated, '{}'));
end $$;

comment on function tock.set_free is 'Lets children whose parents are over come next: ready, or to their gates, or to wait for their time.';

-- What it was for goes with the run.
create or replace function tock.cancel_children(p_off tock.dependent[])
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_children bigint[] := array(select o.position from unnest(p_off) o);
begin
  if v_children = '{}' then
    return v_children;
  end if;
  delete from tock.watches x where x.child = any (v_children);
  update tock.waiting w set options = w.options || pg_catalog.jsonb_build_object('cancelled_for',
    pg_catalog.jsonb_build_object('id', o.parent::text, 'state', coalesce(o.state, 'gone')))
  from unnest(p_off) o where w.position = o.position;
  perform tock.make_ready(v_children, true);
  return tock.lock_children(array(
    select distinct x.child
    from unnest(v_children) c
    join tock.promotions p on p.position = c
    cross join lateral (
      select x.child from tock.watches x
      where x.stream = (p.run_id & 1048575)::integer and x.position = p.run_id >> 20 offset 0) x));
end $$;

comment on function tock.cancel_children is 'Cancels children one of whose parents did not end well, and returns those of their own that are to be looked at, locked.';
