-- The newest runs of a stream, in a range and below a position, that may be in a state; dead ones come from
-- their own index.
create or replace function tock.list_source_{segment}(
  p_stream integer, p_after bigint, p_last bigint, p_below bigint, p_state text, p_limit bigint)
returns table ("position" bigint) language sql stable as $$
  (select r.position from tock.runs_{segment} r
   where p_state is distinct from 'dead'
     and r.stream = p_stream and r.position > p_after and r.position <= p_last and r.position < p_below
   order by r.stream desc, r.position desc limit p_limit)
  union all
  (select e.position from tock.results_{segment} e
   where p_state = 'dead' and e.next_id is null and e.state in ('failed', 'lost')
     and e.stream = p_stream and e.position > p_after and e.position <= p_last and e.position < p_below
   order by e.stream desc, e.position desc limit p_limit)
$$;
