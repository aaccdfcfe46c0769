-- The edge sends single statements: a transaction that it leaves open is a mistake, and holds a pool's connection, writer
-- slots and keys. Another database of the cluster may be setting the same at this moment.
do $$
begin
  alter role tock_edge set idle_in_transaction_session_timeout = '60s';
exception
  when insufficient_privilege or internal_error then null;  -- the second: updated concurrently
end $$;
