create or replace function tock.leave_gates(p_lease uuid, p_epoch integer)
returns void
language plpgsql
volatile
as $$
begin
end $$;

comment on function tock.leave_gates is 'Opens the gates of a lease''s runs for the next.';
