-- The runs among these that lie in the segment, have not ended and are not locked by another transaction, for
-- may_be_ending().
create or replace function tock.runs_in_no_transaction_{segment}(
  p_ids bigint[], p_oldest integer, p_claiming integer[], p_marking boolean)
returns setof bigint language sql stable as $$
  select i from unnest(p_ids) i
  left join lateral (
    select l.last_position, l.closed_at, l.xmax as changed_by from tock.leases_{segment} l
    where l.stream = tock.stream_of(i) and l.after_position < tock.position_of(i)
    order by l.stream, l.after_position desc limit 1) c on c.last_position >= tock.position_of(i)
  where tock.stream_of(i) <> 0 and tock.segment_of(tock.position_of(i)) = {segment}
    and case when c.last_position is null then tock.stream_of(i) <> all (p_claiming) and not p_marking and (
        select m.position from tock.run_overrides_{segment} m
        where m.stream = tock.stream_of(i) and m.position = tock.position_of(i)
          and m.kind in ('superseded', 'cancelled')
        limit 1) is null
      else coalesce(c.closed_at, 'infinity') = 'infinity'
        and (c.changed_by = '0'::xid or (pg_catalog.age(c.changed_by) > p_oldest
          and pg_catalog.age(c.changed_by) <= (
            select pg_catalog.age(k.relfrozenxid) from pg_catalog.pg_class k
            where k.oid = 'tock.leases_{segment}'::regclass)))
        and (select e.position from tock.results_{segment} e
          where e.stream = tock.stream_of(i) and e.position = tock.position_of(i)) is null end
$$;
