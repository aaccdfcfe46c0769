-- A lane is shared by the tenants hashed to it. When most of what stands at its front is one tenant's,
-- that one keeps the lane to itself, and the others are given another until it has been worked off.
create or replace function tock.balance(p_streams integer default 200)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set lock_timeout = '100ms'
as $$
declare
  v_stream record;
  v_heavy text;
  v_lane record;
  v_changed integer := 0;
begin
  for v_stream in
    select s.number, s.queue, s.lane from tock.streams s
    where s.awake and s.lane < 64 order by pg_catalog.random() limit p_streams
  loop
    v_heavy := tock.heavy_tenant(v_stream.number);
    if v_heavy is not null then
      update tock.queues q set heavy = q.heavy || pg_catalog.jsonb_build_object(v_stream.lane, v_heavy)
      where q.name = v_stream.queue and q.heavy -> v_stream.lane::text is null;
      v_changed := v_changed + case when found then 1 else 0 end;
    end if;
  end loop;
  for v_lane in
    select q.name, l.key as lane, l.value as tenant from tock.queues q cross join lateral pg_catalog.jsonb_each_text(q.heavy) l
  loop
    if not exists (
      select from tock.streams s
      where s.queue = v_lane.name and s.awake and s.lane = v_lane.lane::integer and tock.heavy_tenant(s.number) is not null)
    then
      update tock.queues q set heavy = q.heavy - v_lane.lane where q.name = v_lane.name;
      v_changed := v_changed + 1;
    end if;
  end loop;
  return v_changed;
end $$;

comment on function tock.balance is
  'Finds lanes that one tenant fills, looking at p_streams streams, and gives those back that have been worked off; returns how many changed.';

create or replace function tock.heavy_tenant(p_stream integer)
returns text
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_after bigint := tock.cursor_of(p_stream);
  v_epoch integer := tock.epoch_of(v_after + 1);
  v_tenant text;
begin
  if v_epoch is null then
    return null;
  end if;
  execute pg_catalog.format($q$
    select n.tenant from (
      select r.tenant, count(*) over () as looked_at from (
        select r.tenant from tock.runs_%s r where r.stream = $1 and r.position > $2
        order by r.stream, r.position limit 200) r) n
    where n.looked_at = 200 and n.tenant is not null
    group by n.tenant having count(*) >= 100 order by count(*) desc limit 1$q$, v_epoch)
    into v_tenant using p_stream, v_after;
  return v_tenant;
end $$;

comment on function tock.heavy_tenant is 'The tenant of at least half of the next 200 runs of a stream; null when there is none, or fewer are left.';
