-- expires_at is kept while it is to come. A unique key stays with the first task, and what that one came after.
-- A pipeline goes on from the stage where the task is run again. What others gave stays, and so does what says that.
create or replace function tock.options_again(p_options jsonb, p_policy tock.queues, p_now timestamptz)
returns jsonb
language sql
stable
as $$
  select nullif(pg_catalog.jsonb_strip_nulls((coalesce(p_options, '{}')
        - '{unique_key,expires_at,after,on_parent_failure,gather,names,cancelled_for}'::text[]) #- '{stage,after}'
      #- case when (p_options #>> '{stage,expires_at}')::timestamptz <= p_now then array['stage', 'expires_at'] else '{}' end
    || pg_catalog.jsonb_build_object(
      'timeout_seconds', coalesce((p_options ->> 'timeout_seconds')::integer, p_policy.timeout_seconds),
      'expires_at', case when (p_options ->> 'expires_at')::timestamptz > p_now then (p_options ->> 'expires_at')::timestamptz
        else p_now + p_policy.max_wait_seconds * interval '1 second' end)), '{}')
$$;

comment on function tock.options_again is 'The options of a task that runs again in a queue, from those it had.';

-- The tasks' last runs or waiting entries lie in one epoch, or in waiting (p_epoch null). Payloads go from table
-- to table. What was run again by somebody else meanwhile, seen by the key of reruns, is left to them. What was
-- erased has bytes -1.
create or replace function tock.run_again(
  p_epoch integer, p_found tock.whereabout[], p_queue text, p_slot integer, p_kind text, p_again boolean, p_reason text)
returns tock.whereabout[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_source text := case when p_epoch is null
    then 'select w.*, w.priority as old_priority from tock.waiting w where w.position = f.current_id >> 20'
    else pg_catalog.format('select r.*, s.priority as old_priority from tock.runs_%s r join tock.streams s on s.number = r.stream
      where r.stream = (f.current_id & 1048575)::integer and r.position = f.current_id >> 20', p_epoch) end;
  v_bulk text[];
  v_made tock.whereabout[];
  v_waits boolean;
begin
  if pg_catalog.cardinality(p_found) >= 1000 then
    execute pg_catalog.format($q$
      select array(
        select r.tenant from unnest($1) f cross join lateral (%s offset 0) r
        where r.tenant is not null group by 1 having count(*) >= 1000)$q$, v_source) into v_bulk using p_found;
  end if;
  execute pg_catalog.format($q$
    with given as materialized (
      select f.n, f.task_id, f.current_id, r.old_priority as priority, r.tenant, r.max_attempts, r.bytes,
        tock.options_again(case when r.options -> 'pipeline' ? $2 then r.options
          else r.options - 'pipeline' - 'stage' end, $3, $4) as options
      from unnest($1) f cross join lateral (%1$s offset 0) r
      where r.bytes >= 0
    ), laned as materialized (
      select g.*, g.options ->> 'gate' as gate,
        case when g.tenant is null then 0 else tock.lane_of($3, g.tenant, $5) end
          + case when g.options is null then 0 else 1024 end as lane
      from given g
    ), opened as materialized (
      select d.priority, d.lane, tock.open_stream($2, d.priority, d.lane, $6) as stream
      from (select distinct l.priority, l.lane from laned l where l.gate is null) d
    ), placed as materialized (
      select pg_catalog.nextval('tock.positions') as next_position, o.*
      from (
        select l.*, case when l.gate is null then s.stream else 0 end as next_stream
        from laned l left join opened s on s.priority = l.priority and s.lane = l.lane
        order by l.n) o
    ), taken as (
      insert into tock.reruns (of_id, number, id, kind, reason)
      select p.task_id, case when $8 then 1 + coalesce((
          select x.number from tock.reruns x where x.of_id = p.task_id order by x.number desc limit 1), 0) else 1 end,
        p.next_position << 20 | p.next_stream, $7, $9
      from placed p order by p.task_id
      on conflict do nothing
      returning id
    ), again as materialized (
      select p.* from placed p join taken t on t.id = p.next_position << 20 | p.next_stream
    ), ready as (
      insert into tock.runs (stream, position, max_attempts, tenant, bytes, payload, options)
      select a.next_stream, a.next_position, a.max_attempts, a.tenant, a.bytes, r.payload, a.options
      from again a cross join lateral (select a.current_id) f cross join lateral (%1$s offset 0) r
      where a.next_stream <> 0
    ), later as (
      insert into tock.waiting (position, due_at, queue, priority, lane, max_attempts, tenant, bytes, payload, options, gate)
      select a.next_position, $4, $2, a.priority, a.lane, a.max_attempts, a.tenant, a.bytes, r.payload, a.options, a.gate
      from again a cross join lateral (select a.current_id) f cross join lateral (%1$s offset 0) r
      where a.next_stream = 0
    )
    select array(
        select row(a.n, a.task_id, a.next_position << 20 | a.next_stream, null, $2)::tock.whereabout from again a order by a.n),
      exists (select from again a where a.next_stream = 0)$q$, v_source)
    into v_made, v_waits
    using p_found, p_queue, v_policy, v_now, coalesce(v_bulk, '{}'), p_slot, p_kind, p_again, p_reason;
  if v_waits then
    perform tock.check_waiting_ids();
    perform tock.check_new_ids(array(select m.current_id from unnest(v_made) m));
  end if;
  perform tock.parents_moved(array(select f.current_id from unnest(p_found) f));
  return v_made;
end $$;

comment on function tock.run_again is
  'Makes new tasks of ended ones, in a queue, and notes what they are reruns of; returns them, current_id being the new one. p_again also of those that were run again before.';
