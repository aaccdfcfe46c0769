-- Who gives work, who does it, who governs: group roles, for roles that log in to be members of; and the
-- edge's, which 0001_roles.sql made. They belong to the cluster: another database may have made them, or be about to, and
-- a dump that was restored elsewhere came without them. So they are looked for at each deploy.
do $$
declare
  v_missing text[] := array(
    select r from unnest(array['tock_producer', 'tock_worker', 'tock_admin', 'tock_edge']) r
    where not exists (select from pg_catalog.pg_roles g where g.rolname = r));
  v_role text;
begin
  foreach v_role in array v_missing loop
    begin
      execute format('create role %I nologin', v_role);
      if v_role = 'tock_edge' then
        alter role tock_edge set statement_timeout = '30s';
        alter role tock_edge set lock_timeout = '2s';
        alter role tock_edge set idle_in_transaction_session_timeout = '60s';
      end if;
    exception
      when duplicate_object or unique_violation then null;  -- made meanwhile from another database
    end;
  end loop;
exception
  when insufficient_privilege then
    raise exception 'this role may not create the roles %', array_to_string(v_missing, ', ')
      using hint = 'have an administrator run: create role '
        || array_to_string(v_missing, ' nologin; create role ') || ' nologin;';
end $$;
