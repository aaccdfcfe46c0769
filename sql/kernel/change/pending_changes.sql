-- What is wanted of a task from its next attempt on is marked on its first run, and on the run that was
-- there: whoever ends an attempt reads both. (The segment of the first may go, the other's attempt may be
-- ending just now.) Later wishes are added to earlier ones, so the marks always say all that was wanted. A
-- payload is for one stage: at says which run there was when it was changed.
create or replace function tock.add_pending_changes(p_found tock.resolved_task[], p_changes jsonb)
returns void
language sql
volatile
as $$
  insert into tock.run_overrides (stream, position, kind, changes)
  select tock.stream_of(i.id), tock.position_of(i.id), 'amended', p_changes
    || case when p_changes ? 'bytes' then pg_catalog.jsonb_build_object('at', i.current_id) else '{}' end
  from (
    select f.task_id as id, f.current_id from unnest(p_found) f
    union select f.current_id, f.current_id from unnest(p_found) f where f.state <> 'waiting') i
  where exists (select from tock.segments e where tock.position_of(i.id) >= e.first_position
    and tock.position_of(i.id) < e.end_position)
  order by 2, 1
  on conflict (stream, position, kind) do update set changes = tock.run_overrides.changes || excluded.changes
$$;

comment on function tock.add_pending_changes is
  'Notes for the next attempts of tasks what is to be changed; p_found says where they were.';

create or replace function tock.pending_changes(p_ids bigint[])
returns tock.pending_change[]
language plpgsql
volatile
as $$
declare
  v_pending tock.pending_change[] := tock.pending_changes_in_use(p_ids);
  v_segment integer;
  v_part tock.pending_change[];
begin
  if v_pending is not null then
    return v_pending;
  end if;
  v_pending := '{}';
  for v_segment in
    select e.number from tock.segments e
    where e.end_position > (select min(tock.position_of(i)) from unnest(p_ids) i)
      and e.first_position <= (select max(tock.position_of(i)) from unnest(p_ids) i)
      and exists (select from unnest(p_ids) i where tock.position_of(i) >= e.first_position
        and tock.position_of(i) < e.end_position)
  loop
    begin
      execute pg_catalog.format('select tock.pending_changes_%s($1)', v_segment) into v_part using p_ids;
    exception
      when undefined_table or undefined_function then v_part := '{}';  -- it was dropped just now
    end;
    v_pending := v_pending || v_part;
  end loop;
  return v_pending;
end $$;

comment on function tock.pending_changes is
  'What is wanted of tasks, by the ids of their first or other runs: that they aren''t tried again, or what '
  'is changed (of a payload its bytes only). Others are left out.';

create or replace function tock.changed_payload(p_id bigint)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_payload jsonb;
begin
  execute pg_catalog.format($q$
    select nullif(m.changes -> 'payload', 'null') from tock.run_overrides_%s m
    where m.stream = $1 and m.position = $2 and m.kind = 'amended'$q$,
      tock.segment_of(tock.position_of(p_id)))
    into v_payload using tock.stream_of(p_id), tock.position_of(p_id);
  return v_payload;
end $$;

comment on function tock.changed_payload is
  'The payload that a task or run is to have from its next attempt on.';

create or replace function tock.is_run_cancelled(p_id bigint)
returns boolean
language sql
volatile
as $$
  select coalesce(bool_or(w.cancelled), false) from unnest(tock.pending_changes(array[p_id])) w
$$;

comment on function tock.is_run_cancelled is 'Whether a run is marked as cancelled now.';
