create or replace function tock.key_policy(p_task jsonb)
returns text language sql immutable as $$
  select coalesce(p_task ->> 'unique_policy',
    case when coalesce(p_task ->> 'on_conflict', 'keep') = 'keep' then 'unfinished' else 'pending' end)
$$;

comment on function tock.key_policy is
  'How long the holder of the key of a task counts: pending, unfinished or period.';

create or replace function tock.counts(
  p_task jsonb, p_state text, p_created_at timestamptz, p_now timestamptz)
returns boolean language sql immutable as $$
  select coalesce(p_state in ('waiting', 'ready')
    or (tock.key_policy(p_task) in ('unfinished', 'period') and p_state = 'running')
    or (tock.key_policy(p_task) = 'period' and coalesce(p_state, '') not in ('cancelled', 'expired')
      and p_created_at
      + pg_catalog.round((p_task ->> 'unique_seconds')::numeric, 6)::float8 * interval '1 second' > p_now),
      false)
$$;

comment on function tock.counts is
  'True if the last task of a key, with this state, still counts for a new task.';

create or replace function tock.continued_runs(p_ids bigint[])
returns bigint[] language plpgsql volatile as $$
declare
  v_continued bigint[];
  v_runs bigint[];
  v_part bigint[];
  v_segment integer;
begin
  if p_ids = '{}' then
    return p_ids;
  end if;
  v_continued := array(
    select tock.id_at(w.position, 0) from tock.waiting w
    where w.position = any (array(select tock.position_of(i) from unnest(p_ids) i
      where tock.stream_of(i) = 0))
      and w.options #> '{stage,after}' is not null);
  -- `waiting` before `promotions`: a promotion may turn the waiting entry into a run in between
  v_runs := array(
    select case when tock.stream_of(i) <> 0 then i
      else (select p.run_id from tock.promotions p where p.position = tock.position_of(i)) end
    from unnest(p_ids) with ordinality i (i, n) order by i.n);
  for v_segment in select distinct tock.segment_of(tock.position_of(i)) from unnest(v_runs) i loop
    continue when v_segment is null;
    execute pg_catalog.format($q$
      select array(
        select i.id from unnest($1, $2) i (id, run_id)
        cross join lateral (
          select from tock.runs_%s r
          where r.stream = tock.stream_of(i.run_id) and r.position = tock.position_of(i.run_id)
            and r.options #> '{stage,after}' is not null
          offset 0) r)$q$, v_segment) into v_part using p_ids, v_runs;
    v_continued := v_continued || v_part;
  end loop;
  return v_continued;
end $$;

comment on function tock.continued_runs is
  'The runs and waiting tasks among these that continue an earlier run of their task: in a stage, or after '
  'spawned tasks.';
