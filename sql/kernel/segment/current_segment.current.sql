-- The current segment while the functions compiled for it are valid; otherwise null.
create or replace function tock.current_segment()
returns integer language plpgsql stable as $$
begin
  return (select case when {is_current} then {segment} end from tock.positions s);
end $$;
