-- True if this database is a node of several. The directory is the schema tock_nodes, which is not Tock's.
-- Its owner(key) returns the number of the node that owns a key, null if none does, and this_node() that of
-- this database. Verbs call it with the rights of their owner, so it counts only if that role or a superuser
-- owns it.
create or replace function tock.has_directory()
returns boolean language plpgsql stable as $$
begin
  return pg_catalog.to_regnamespace('tock_nodes') is not null and exists (
    select from pg_catalog.pg_namespace d join pg_catalog.pg_roles o on o.oid = d.nspowner
    where d.nspname = 'tock_nodes' and (o.rolsuper or o.oid = (
      select t.nspowner from pg_catalog.pg_namespace t where t.nspname = 'tock')));
end $$;

-- Raises an error if another node of several owns a key: the name of a queue, or ':' and a range of ids.
-- TK421 says that the call belongs to that node. TK422 says that the call is right here, but names something
-- of that node. Without a directory this database owns everything. Each node has a queue of webhooks of its
-- own.
create or replace function tock.refuse_elsewhere(
  p_key text, p_what text, p_field text, p_status integer)
returns void language plpgsql stable as $$
declare
  v_node integer;
begin
  if p_key = 'tock-webhooks' or not tock.has_directory() then
    return;
  end if;
  v_node := tock_nodes.owner(p_key);
  if v_node <> tock_nodes.this_node() then
    perform tock.refuse(p_status, pg_catalog.format('%s is on node %s', p_what, v_node), p_field,
      case when p_status = 421 then pg_catalog.format('send this call to node %s', v_node)
        else 'all that one call names must be on one node: use another queue, or two calls' end);
  end if;
end $$;
