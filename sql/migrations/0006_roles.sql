-- The edge's role: may call verbs and touch no table. It can't log in until it is given a password.
-- Roles belong to the cluster, so another database may have made it already.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'tock_edge') then
    create role tock_edge nologin;
  end if;
exception
  when duplicate_object then null;
  when unique_violation then null;
  when insufficient_privilege then
    raise exception 'this role may not create the role tock_edge'
      using hint = 'have an administrator run: create role tock_edge nologin';
end $$;

-- Said by the role, as a transaction pooler takes no setting at connect. One open transaction that
-- holds a lease must not fill the pool with those who wait for it.
do $$
begin
  alter role tock_edge set statement_timeout = '30s';
  alter role tock_edge set lock_timeout = '2s';
exception
  when insufficient_privilege then null;
end $$;
