create or replace function tock.sees_all()
returns boolean
language sql
stable
as $$
  select pg_catalog.current_setting('transaction_isolation') = 'read committed'
$$;

comment on function tock.sees_all is 'Whether each statement of the transaction has a snapshot of its own.';

-- A claim takes the lock of a stream and then reads what is there; a change does the same. Both are wrong on
-- a snapshot that is older than the lock. Enqueueing and the ends of a lease work on any snapshot.
create or replace function tock.check_read_committed(p_verb text)
returns void
language plpgsql
stable
as $$
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409,
      p_verb
        || '() has to run in read committed: an older snapshot doesn''t show what others have done since',
      null, 'call it in a transaction of its own, or begin this one with isolation level read committed');
  end if;
end $$;

comment on function tock.check_read_committed is
  'TK409 in a transaction that keeps one snapshot, which claims and changes can''t work on.';
