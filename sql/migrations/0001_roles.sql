-- The role of the HTTP server: it calls verbs and touches no table. Roles belong to the cluster, so another
-- database may have made it already. Each deploy makes missing roles, so the group roles of producers,
-- workers and administrators need no migration.
do $$
begin
  if not exists (select from pg_catalog.pg_roles r where r.rolname = 'tock_edge') then
    create role tock_edge nologin;  -- an administrator gives it a password
  end if;
exception
  when duplicate_object or unique_violation then null;  -- another database made it meanwhile
end $$;

-- A transaction pooler sets nothing at connect, so the role itself has the time limits. The HTTP server sends
-- single statements: an open transaction is a mistake, and holds a connection of the pool, writer slots and
-- keys. Blocked calls must not fill the pool either.
do $$
begin
  alter role tock_edge set statement_timeout = '30s';
  alter role tock_edge set lock_timeout = '2s';
  alter role tock_edge set idle_in_transaction_session_timeout = '60s';
exception
  when insufficient_privilege then null;  -- the administrator who made the role sets them
  when internal_error then null;  -- "tuple concurrently updated": another database sets the same
end $$;
