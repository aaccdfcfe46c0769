-- glance_at_stream() for one segment and the cursor of the stream.
create or replace function tock.glance_at_stream_{segment}(p_stream integer, p_after bigint)
returns table (
  ready_run bigint, ready_at timestamptz, ready integer, tenants integer, active_at timestamptz,
  at_work boolean, lost_id bigint, lost integer) language plpgsql
volatile as $$
declare
  v_lease record;
  v_from bigint := p_after;
begin
  select l.after_position, l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp() as open,
      greatest(l.claimed_at, nullif(l.closed_at, 'infinity')) as active_at
    into v_lease
  from tock.leases_{segment} l where l.stream = p_stream
  order by l.stream desc, l.after_position desc limit 1;
  if v_lease.open then
    v_from := v_lease.after_position;
  end if;
  return query
    with next as materialized (
      select r.position, r.created_at, r.tenant, r.lost, r.attempt, r.task_id, r.position > p_after as ready
      from tock.runs_{segment} r where r.stream = p_stream and r.position > v_from
      order by r.stream, r.position limit 200
    ), over as materialized (
      select m.position from tock.run_overrides_{segment} m
      where m.stream = p_stream and m.position > v_from and m.position <= (select max(n.position) from next n)
        and m.kind in ('cancelled', 'superseded')
    ), live as materialized (
      select n.* from next n where n.position not in (select o.position from over o)
    ), first as (
      select n.* from live n where n.ready order by n.position limit 1)
    select (select tock.id_at(f.position, p_stream) from first f),
      (select coalesce((
          select p.promoted_at from tock.promotions p
          where p.position = tock.position_of(f.task_id) and f.attempt = 1),
          tock.ready_since(p_stream, f.position, f.task_id), f.created_at)
        from first f),
      (count(*) filter (where n.ready))::integer, (count(distinct n.tenant) filter (where n.ready))::integer,
      v_lease.active_at, coalesce(v_lease.open, false),
      max(coalesce(n.task_id, tock.id_at(n.position, p_stream))) filter (where n.lost >= 3),
      max(n.lost)::integer
    from live n;
end $$;
