-- The pending changes of tasks from the overrides of one segment.
create or replace function tock.pending_changes_{segment}(p_ids bigint[])
returns tock.pending_change[] language plpgsql volatile as $$
begin
  return array(
    select row(i.id, m.cancelled, m.changes)::tock.pending_change from unnest(p_ids) i (id)
    cross join lateral (
      select bool_or(k.kind = 'cancelled') as cancelled,
        (pg_catalog.array_agg(k.changes - 'payload') filter (where k.kind = 'amended'))[1] as changes
      from tock.run_overrides_{segment} k
      where k.stream = tock.stream_of(i.id) and k.position = tock.position_of(i.id)
        and k.kind in ('cancelled', 'amended')
      offset 0) m
    where m.cancelled is not null);
end $$;
