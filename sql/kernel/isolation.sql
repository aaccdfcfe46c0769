-- A snapshot that was taken before this statement shows neither every child nor which other parents have ended.
create or replace function tock.sees_all()
returns boolean
language sql
stable
as $$
  select pg_catalog.current_setting('transaction_isolation') = 'read committed'
$$;

comment on function tock.sees_all is 'Whether each statement of the transaction has a snapshot of its own.';

-- Nor which runs were replaced since, and the replacement may have been claimed: the keys of such marks are
-- tried and undone in the same way. A change left open is waited for a moment, and then its stream left out.
create or replace function tock.sees_all_marks(p_epoch integer, p_stream integer, p_after bigint, p_upto bigint)
returns boolean
language plpgsql
volatile
set lock_timeout = '50ms'
as $$
begin
  execute pg_catalog.format($q$
    insert into tock.marks_%1$s (stream, position, kind, other_id)
    select r.stream, r.position, 'superseded', 0 from tock.runs_%1$s r where r.stream = $1 and r.position > $2 and r.position <= $3
    order by r.stream, r.position
    on conflict do nothing$q$, p_epoch) using p_stream, p_after, p_upto;
  raise exception using errcode = 'TK001';
exception
  when sqlstate 'TK001' then return true;
  when lock_not_available then return false;
end $$;

comment on function tock.sees_all_marks is
  'Whether a claim under an old snapshot may go on: 40001 when a run that it would draw was replaced since, false when one is being replaced.';

-- An old snapshot may show a queue without its limit. To lock the row, and undo it, raises 40001 when it was
-- changed since; while somebody is changing it as well.
create or replace function tock.check_policy_is_new(p_name text)
returns void
language plpgsql
volatile
as $$
begin
  perform from tock.queues q where q.name = p_name for share nowait;
  raise exception using errcode = 'TK001';
exception
  when sqlstate 'TK001' then null;
  when lock_not_available then
    raise exception using errcode = '40001', message = 'this queue''s settings are being changed', hint = 'make the call again';
end $$;

comment on function tock.check_policy_is_new is 'Raises 40001 when a queue''s policy was changed since this transaction''s snapshot was taken.';
