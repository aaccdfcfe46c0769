-- Appends one task without options to the current segment and returns its id; null if append_plain() has to
-- do it.
create or replace function tock.append_one(p_queue text, p_payload text)
returns bigint language plpgsql volatile as $$
declare
  v_slot integer := 0;
  v_bytes integer := coalesce(pg_catalog.octet_length(p_payload), 0);
  v_id bigint;
begin
  while not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), 1073741824 + v_slot) loop
    v_slot := v_slot + 1;
    if v_slot = 64 then
      return null;
    end if;
  end loop;
  -- nextval() runs only if all conditions inside hold. Outside, last_value excludes a position from the cache
  -- of a session, and end_position one of the next segment.
  insert into tock.runs_{segment} (stream, position, bytes, payload)
    select n.stream, n.position, v_bytes, p_payload::json
    from (
      select t.number as stream, pg_catalog.nextval('tock.positions') as position, s.last_value
      from tock.queues q, tock.streams t, tock.positions s
      where q.name = p_queue and q.max_payload_bytes >= v_bytes
        and q.timeout_seconds is null and q.max_wait_seconds is null and (q.push is null or q.push ? 'url')
        and t.queue = p_queue and t.priority = 5 and t.lane = 0 and t.slot = v_slot and t.awake
        and s.last_value >= t.start_after
        and s.last_value >= coalesce((select r.position from tock.runs_{segment} r where r.stream = t.number
          order by r.stream desc, r.position desc limit 1), 0)
        and {is_current}
      offset 0) n
    where n.position > n.last_value and n.position < {end_position}
    returning tock.id_at(position, stream) into v_id;
  return v_id;
end $$;
