-- True if each statement of the transaction takes a new snapshot.
create or replace function tock.sees_all()
returns boolean language sql stable as $$
  select pg_catalog.current_setting('transaction_isolation') = 'read committed'
$$;

-- Raises TK409 in a transaction with one snapshot, where claims and changes would be wrong. A claim or a
-- change locks a stream and then reads it. With a snapshot older than the lock, it would miss what was
-- committed in between. enqueue() and the verbs that end a lease are correct under any snapshot.
create or replace function tock.check_read_committed(p_verb text)
returns void language plpgsql stable as $$
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409,
      p_verb || '() needs isolation level read committed: an older snapshot hides what others have committed',
      null, 'call it in its own transaction, or begin this one with isolation level read committed');
  end if;
end $$;
