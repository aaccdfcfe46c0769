-- Links from one task to others (parents, reruns, the task that spawned it) show only tasks that the key
-- could read by their own ids. The queue of each counts, and the queue of its last rerun.
create or replace function tock.readable(p_key text, p_ids bigint[])
returns bigint[] language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_key record;
begin
  select k.queues, k.tenants into v_key from tock.keys k
  where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'));
  if v_key.queues is null and v_key.tenants is null then
    return p_ids;
  end if;
  return array(
    select i.id from unnest(p_ids) i (id)
    where (v_key.tenants is null or (tock.rights_of_task(i.id)).tenant = any (v_key.tenants))
      and (v_key.queues is null or tock.queue_for_authorization(p_key, i.id) = any (v_key.queues))
    except
    select e.id from tock.final_states_of(p_ids, null) e
    where v_key.queues is not null and e.current_id <> e.id
      and (tock.queue_for_authorization(p_key, e.current_id) = any (v_key.queues)) is not true);
end $$;

comment on function tock.readable is
  'The ids among these of tasks that a key may read, together with their last reruns.';

-- Most tasks have no links and cost no look-up here.
create or replace function tock.readable_links(
  p_key text, p_options jsonb, p_error jsonb, p_rerun_of bigint, p_reruns jsonb, out options jsonb,
  out error jsonb, out rerun_of text, out reruns jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_ids bigint[];
  v_readable text[];
  v_many boolean;
begin
  options := p_options; error := p_error; rerun_of := p_rerun_of; reruns := p_reruns;
  if p_key is null or p_rerun_of is null and p_reruns = '[]'
    and (p_options ?| '{depends_on,parent,cancelled_for}') is not true
  then
    return;
  elsif exists (
    select from tock.keys k where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'))
      and k.queues is null and k.tenants is null)
  then
    return;
  end if;
  begin
    -- each link costs look-ups: of thousands of parents only the first hundred are shown, the others by GET
    -- /parents
    v_many := pg_catalog.jsonb_array_length(coalesce(p_options -> 'depends_on', '[]')) > 100;
    v_ids := array(
      (select a::bigint from pg_catalog.jsonb_array_elements_text(
        coalesce(p_options -> 'depends_on', '[]')) with ordinality l (a, n)
        where l.n <= 100)
      union select (r ->> 'id')::bigint from pg_catalog.jsonb_array_elements(p_reruns) r
      union select l from unnest(array[p_rerun_of, (p_options ->> 'parent')::bigint,
        (p_options -> 'cancelled_for' ->> 'id')::bigint]) l
        where l is not null);
    v_readable := tock.readable(p_key, v_ids);
    if not v_many and pg_catalog.cardinality(v_readable) = pg_catalog.cardinality(v_ids) then
      return;
    end if;
    if p_options ? 'depends_on' then
      options := options || pg_catalog.jsonb_build_object('depends_on', (
        select coalesce(pg_catalog.jsonb_agg(a.id order by a.n), '[]')
        from pg_catalog.jsonb_array_elements_text(p_options -> 'depends_on') with ordinality a (id, n)
        where a.id in (select unnest(v_readable))));
    end if;
    if p_options ? 'names' then
      options := options || pg_catalog.jsonb_build_object('names', (
        select coalesce(pg_catalog.jsonb_object_agg(a.id, a.name), '{}')
        from pg_catalog.jsonb_each_text(p_options -> 'names') a (id, name)
        where a.id in (select unnest(v_readable))));
    end if;
    if p_options ->> 'parent' <> all (v_readable) then
      options := options - 'parent';
    end if;
    if p_options -> 'cancelled_for' ->> 'id' <> all (v_readable) then
      options := options #- '{cancelled_for,id}';
      error := case when p_error = tock.cancelled_for(p_options) then tock.cancelled_for(options)
        else p_error end;
    end if;
    rerun_of := case when p_rerun_of::text = any (v_readable) then p_rerun_of end;
    reruns := (
      select coalesce(pg_catalog.jsonb_agg(r.rerun order by r.n), '[]')
      from pg_catalog.jsonb_array_elements(p_reruns) with ordinality r (rerun, n)
      where r.rerun ->> 'id' = any (v_readable));
  exception
    when data_exception then
      perform tock.refuse(422, 'p_options, p_rerun_of or p_reruns are not links of a task', null,
        'pass them as tock.task() returns them');
  end;
end $$;

comment on function tock.readable_links is
  'The options, error and reruns of a task without links to tasks that a key may not read.';
