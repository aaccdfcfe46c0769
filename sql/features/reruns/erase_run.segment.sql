-- Erases a run, its result and its notes; returns the ids of its successors.
create or replace function tock.erase_run_{segment}(p_stream integer, p_position bigint)
returns bigint[] language plpgsql volatile as $$
begin
  update tock.runs_{segment} r set payload = null, bytes = -1, options = tock.without_secrets(r.options)
  where r.stream = p_stream and r.position = p_position;
  update tock.results_{segment} e set result = null, error = null
  where e.stream = p_stream and e.position = p_position;
  update tock.progress g set note = null
  where g.stream = p_stream and (g.of_all or g.position = p_position) and g.position in (p_position, (
    select max(l.after_position) + 1 from tock.leases_{segment} l
    where l.stream = p_stream and l.after_position < p_position));
  return array(
    select e.next_id from tock.results_{segment} e
    where e.stream = p_stream and e.position = p_position and e.next_id is not null
    union all
    select m.other_id from tock.run_overrides_{segment} m
    where m.stream = p_stream and m.position = p_position and m.kind = 'superseded');
end $$;
