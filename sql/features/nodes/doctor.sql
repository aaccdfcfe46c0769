-- A finding about a range of ids that is nearly used up. It is a range of one node of several, or the last
-- one of a database alone.
create or replace function tock.doctor_of_range()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'a range of ids is nearly used up', case when r.positions_left < 85899346 then 'critical'
    else 'warning' end,
    pg_catalog.format('%s positions are left in range %s', r.positions_left, r.last_value >> 33),
    'give this database a further range, which no other node has: tock nodes found RANGE'
  from (
    select p.last_value, tock.end_of_range() - 1 - p.last_value as positions_left
    from tock.positions p) r
  where r.positions_left < 858993460
$$;

-- Findings about the directory of several nodes. A queue whose row is here has its tasks here. If the
-- directory names another node, calls go there, unless the queue has moved and claims still come here.
create or replace function tock.doctor_of_directory()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
begin
  if not tock.has_directory() then
    return;
  end if;
  return query
  select 'queues are on the wrong node', 'critical',
    pg_catalog.format('%s on node %s: %s', tock.some(count(*), 'queue'), tock_nodes.this_node(),
      pg_catalog.string_agg(q.queue, ', ' order by q.queue) filter (where q.n <= 5)),
    'give each the node that it should have: tock nodes move QUEUE NODE'
  from (
    select p.name as queue, row_number() over (order by p.name) as n from tock.queues p
    where p.name not in ('*', 'tock-webhooks') and tock_nodes.owner(p.name) <> tock_nodes.this_node()
      and not exists (
        select from tock_nodes.moves m where m.queue = p.name and m.node = tock_nodes.this_node())) q
  having count(*) > 0
  union all
  select 'ids lead to another node', 'critical',
    pg_catalog.format('range %s of this database is on node %s', s.last_value >> 33,
      tock_nodes.owner(':' || (s.last_value >> 33))),
    pg_catalog.format('bring the range back: tock nodes place :%s NODE', s.last_value >> 33)
  from tock.positions s
  where tock_nodes.owner(':' || (s.last_value >> 33)) <> tock_nodes.this_node();
end $$;
