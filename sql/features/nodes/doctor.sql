-- A finding about a range of ids that is nearly used up. It is a range of one node of several, or the last
-- one of a database alone.
create or replace function tock.doctor_of_range()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'a range of ids is nearly used up', case when r.positions_left < 85899346 then 'critical'
    else 'warning' end,
    pg_catalog.format('%s positions are left in range %s', r.positions_left, r.last_value >> 33),
    'give this database a further range, which no other node has: tock nodes found RANGE'
  from (
    select p.last_value, tock.end_of_range() - 1 - p.last_value as positions_left
    from tock.positions p) r
  where r.positions_left < 858993460
$$;
