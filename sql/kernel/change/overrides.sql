-- What is wanted of a task from its next attempt on is marked on its first run, and on the run that was
-- there: whoever ends an attempt reads both. (The epoch of the first may go, the other's attempt may be
-- ending just now.) Later wishes are added to earlier ones, so the marks always say all that was wanted. A
-- payload is for one stage: at says which run there was when it was changed.
create or replace function tock.amend(p_found tock.whereabout[], p_changes jsonb)
returns void
language sql
volatile
as $$
  insert into tock.marks (stream, position, kind, changes)
  select tock.stream_of(i.id), tock.position_of(i.id), 'amended', p_changes
    || case when p_changes ? 'bytes' then pg_catalog.jsonb_build_object('at', i.current_id) else '{}' end
  from (
    select f.task_id as id, f.current_id from unnest(p_found) f
    union select f.current_id, f.current_id from unnest(p_found) f where f.state <> 'waiting') i
  where exists (select from tock.epochs e where tock.position_of(i.id) >= e.first_position
    and tock.position_of(i.id) < e.end_position)
  order by 2, 1
  on conflict (stream, position, kind) do update set changes = tock.marks.changes || excluded.changes
$$;

comment on function tock.amend is
  'Notes for the next attempts of tasks what is to be changed; p_found says where they were.';

create or replace function tock.wishes(p_ids bigint[])
returns tock.wish[]
language plpgsql
volatile
as $$
declare
  v_wishes tock.wish[] := tock.wishes_in_use(p_ids);
  v_epoch integer;
  v_part tock.wish[];
begin
  if v_wishes is not null then
    return v_wishes;
  end if;
  v_wishes := '{}';
  for v_epoch in
    select e.number from tock.epochs e
    where e.end_position > (select min(tock.position_of(i)) from unnest(p_ids) i)
      and e.first_position <= (select max(tock.position_of(i)) from unnest(p_ids) i)
      and exists (select from unnest(p_ids) i where tock.position_of(i) >= e.first_position
        and tock.position_of(i) < e.end_position)
  loop
    begin
      execute pg_catalog.format('select tock.wishes_%s($1)', v_epoch) into v_part using p_ids;
    exception
      when undefined_table or undefined_function then v_part := '{}';  -- it was dropped just now
    end;
    v_wishes := v_wishes || v_part;
  end loop;
  return v_wishes;
end $$;

comment on function tock.wishes is
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
    select nullif(m.changes -> 'payload', 'null') from tock.marks_%s m
    where m.stream = $1 and m.position = $2 and m.kind = 'amended'$q$, tock.epoch_of(tock.position_of(p_id)))
    into v_payload using tock.stream_of(p_id), tock.position_of(p_id);
  return v_payload;
end $$;

comment on function tock.changed_payload is
  'The payload that a task or run is to have from its next attempt on.';
