-- Tenants with the same hash share a lane. When one tenant fills the lane, it gets the lane for itself. The
-- others move 64 lanes up, where the same may happen again. They return when the tenant has few runs left. A
-- lane and the lane of its tasks with options, 1,024 higher, count as one: a tenant that fills either gets
-- both. A call chooses p_streams awake streams at random and checks those of them that have a backlog.
create or replace function tock.isolate_tenants(p_streams integer default 1000)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '100ms' as $$
declare
  v_stream record;
  v_heavy text;
  v_lane record;
  v_changed integer := 0;
begin
  if p_streams < 0 then
    perform tock.refuse(422, 'p_streams must not be negative', 'p_streams');
  end if;
  for v_stream in
    select l.number, l.queue, l.lane from (
      select s.number, s.queue, s.lane & 1023 as lane from tock.streams s
      where s.awake and s.lane & 1023 < 448 order by pg_catalog.random() limit p_streams) l
    where tock.newest_run(l.number) - tock.cursor_of(l.number) >= 200 limit 200
  loop
    v_heavy := tock.heaviest_tenant(v_stream.number);
    if v_heavy is not null then
      update tock.queues q set heavy = q.heavy || pg_catalog.jsonb_build_object(v_stream.lane, v_heavy)
      where q.name = v_stream.queue and q.heavy -> v_stream.lane::text is null;
      v_changed := v_changed + case when found then 1 else 0 end;
    end if;
  end loop;
  for v_lane in
    select q.name, l.key as lane, l.value as tenant from tock.queues q
    cross join lateral pg_catalog.jsonb_each_text(q.heavy) l
  loop
    if not exists (
      select from tock.streams s
      where s.queue = v_lane.name and s.awake and s.lane & 1023 = v_lane.lane::integer
        and tock.heaviest_tenant(s.number) is not null)
    then
      update tock.queues q set heavy = q.heavy - v_lane.lane where q.name = v_lane.name;
      v_changed := v_changed + 1;
    end if;
  end loop;
  return v_changed;
end $$;

comment on function tock.isolate_tenants is
  'Finds lanes that one tenant fills, among p_streams streams, and releases lanes that have been worked '
  'off; returns the number of changes.';

-- The tenant of at least half of the next or of the newest 200 unclaimed runs of a stream; null if there is
-- none, or if fewer are left. The function checks both ends of the stream. The first runs may be from other
-- tenants, while new runs already wait behind those of the heavy tenant.
create or replace function tock.heaviest_tenant(p_stream integer)
returns text language plpgsql volatile as $$
declare
  v_after bigint := tock.cursor_of(p_stream);
  v_segments integer[] := array[tock.segment_of(v_after + 1), tock.newest_segment()];
  v_tenant text;
begin
  for v_end in 1 .. 2 loop
    continue when v_segments[v_end] is null;
    execute pg_catalog.format($q$
      select n.tenant from (
        select r.tenant, count(*) over () as scanned from (
          select r.tenant from tock.runs_%1$s r where r.stream = $1 and r.position > $2
          order by r.stream %2$s, r.position %2$s limit 200) r) n
      where n.scanned = 200 and n.tenant is not null
      group by n.tenant having count(*) >= 100 order by count(*) desc limit 1$q$,
      v_segments[v_end], case v_end when 2 then 'desc' end) into v_tenant using p_stream, v_after;
    exit when v_tenant is not null;
  end loop;
  return v_tenant;
end $$;
