create or replace function tock.pending_changes_in_use(p_ids bigint[])
returns tock.pending_change[] language plpgsql volatile as $$
begin
  return (
    select case when min(tock.position_of(i)) >= {first_position}
      and max(tock.position_of(i)) < {end_position}
      then tock.pending_changes_{segment}(p_ids) end
    from unnest(p_ids) i);
end $$;

comment on function tock.pending_changes_in_use is
  'pending_changes() if all ids lie in the current segment; otherwise null.';
