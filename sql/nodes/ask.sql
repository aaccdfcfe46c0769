create or replace function tock_nodes.ask(p_key text, p_statement text, p_values text[] default '{}')
returns setof text language plpgsql volatile as $$
begin
  return query execute pg_catalog.format(p_statement, variadic p_values);
end $$;

comment on function tock_nodes.ask is
  'Runs a statement of one text column on the node that owns a key, with the rights of the caller. %1$L in '
  'it is the first value, and %% a percent sign. The statement goes there only if this call is alone: select '
  '... from tock_nodes.ask(...) without a join, a condition or a further column. Citus crashes '
  'if the key is null.';

-- The answers of ask(), in an array. Inside a function the call is always alone, so it goes to the owner of
-- the key from every statement. It is then part of the caller's transaction.
create or replace function tock_nodes.answers(p_key text, p_statement text, p_values text[] default '{}')
returns text[] language plpgsql volatile as $$
declare
  v_answers text[];
begin
  if p_key is null then
    raise exception using errcode = 'TK422', message = 'the key of a node is null',
      hint = 'give the name of a queue, a lease or an id';
  end if;
  perform tock_nodes.commit_together(tock_nodes.is_here(p_key));
  select pg_catalog.array_agg(a.answer) into v_answers
  from tock_nodes.ask(p_key, p_statement, p_values) a (answer);
  return coalesce(v_answers, '{}');
end $$;

-- True if this node owns a key. Verbs then need no ask(), whose statement is planned at each call.
create or replace function tock_nodes.is_here(p_key text)
returns boolean language plpgsql stable as $$
begin
  return tock_nodes.owner(p_key) = tock_nodes.this_node();
end $$;

-- Called before each verb, with true if it runs on this node. Only Citus needs it: see router.sql.
create or replace function tock_nodes.commit_together(p_here boolean)
returns void language plpgsql volatile as $$
begin
end $$;

create or replace function tock_nodes.task_key(p_id bigint)
returns text language sql immutable as $$
  select ':' || (p_id >> 53)
$$;

comment on function tock_nodes.task_key is 'The key of the node that has a task, from its id.';

create or replace function tock_nodes.lease_key(p_lease uuid)
returns text language sql immutable as $$
  select ':' || (('x' || pg_catalog.right(p_lease::text, 7))::bit(28)::integer >> 18)
$$;

comment on function tock_nodes.lease_key is 'The key of the node that has a lease, from its token.';

-- True if a queue has left a node that still has tasks of it. Citus gets a cheaper one: see router.sql.
create or replace function tock_nodes.is_moving(p_queue text)
returns boolean language plpgsql stable as $$
begin
  return exists (select from tock_nodes.moves m where m.queue = p_queue);
end $$;

create or replace function tock_nodes.claim_keys(p_queue text)
returns text[] language plpgsql stable as $$
begin
  if not tock_nodes.is_moving(p_queue) then
    return array[p_queue];
  end if;
  return array(
    select ':' || min(r.range) from tock_nodes.moves m join tock_nodes.ranges r on r.node = m.node
    where m.queue = p_queue
    group by m.node, m.moved_at order by m.moved_at) || p_queue;
end $$;

comment on function tock_nodes.claim_keys is
  'The keys of the nodes to claim from, in order: first nodes that the queue has left and that still have '
  'tasks of it, then its owner.';

-- Each query here is simple, so that Citus plans it on every node.
create or replace function tock_nodes.routes(p_keys text[])
returns table (key text, node integer, left_by text) language plpgsql stable as $$
begin
  return query
    select m.queue, m.node, ':' || min(r.range) from tock_nodes.moves m
    join tock_nodes.ranges r on r.node = m.node
    group by m.queue, m.node, m.moved_at order by m.moved_at;
  return query select k.k, tock_nodes.owner(k.k), null::text from unnest(p_keys) k (k);
end $$;

comment on function tock_nodes.routes is
  'What the HTTP server keeps of the directory. A row without left_by has the owner of one of the keys. The '
  'others are the nodes that each moving queue has left, in the order of the moves; left_by leads there.';
