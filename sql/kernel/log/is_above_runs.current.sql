-- True if the next position is certainly above all runs of a stream, as it must be. Otherwise only
-- check_sequence() can decide, which is slower.
create or replace function tock.is_above_runs(p_stream integer, p_position bigint)
returns boolean language plpgsql volatile as $$
begin
  return (
    select s.last_value >= p_position and s.last_value >= {first_position} and s.last_value < {valid_until}
      and s.last_value >= coalesce((select r.position from tock.runs_{segment} r where r.stream = p_stream
        order by r.stream desc, r.position desc limit 1), 0)
      and (pg_catalog.pg_sequence_parameters('tock.positions'::regclass)).cache_size = 1
    from tock.positions s);
end $$;
