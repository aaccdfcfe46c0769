create or replace function tock.current_epoch()
returns integer
language plpgsql
stable
as $$
begin
  return (select case when {is_current} then {segment} end from tock.positions s);
end $$;

comment on function tock.current_epoch is
  'The epoch in use, while the functions compiled for it are right; else null.';
