-- The runs are of one epoch, the lease's own. That neither the newest lease nor start_after is above the
-- cursor is asked in the statement's own snapshot: since the cursor was read somebody else may have claimed,
-- or the stream may have slept and woken. So is that nothing marked is among them.
create or replace function tock.lease_range_{suffix}(
  p_epoch integer, p_stream integer, p_after bigint, p_limit integer, p_token uuid, p_worker text, p_until timestamptz,
  p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint)
returns setof tock.claimed
language plpgsql
volatile
as $$
declare
  v_after bigint := p_after;
begin
  if p_epoch <> {segment} then
    return;
  end if;
  loop
    return query
      with picked as materialized (
        select n.* from (
          select r.*, sum(r.cost) over (order by r.position) as upto
          from (
            select r.position, r.task_id, r.attempt, r.max_attempts, r.tenant, r.created_at, r.payload,
              r.bytes + 128 + 4 * coalesce(octet_length(r.tenant), 0) as cost
            from tock.runs_{segment} r where r.stream = p_stream and r.position > v_after
              and (select s.start_after from tock.streams s where s.number = p_stream) <= v_after
              and coalesce((
                select l.last_position from tock.leases_{segment} l where l.stream = p_stream
                order by l.stream desc, l.after_position desc limit 1), 0) <= v_after
              and ((select m.position from tock.marks_{segment} m where m.stream = p_stream and m.position > v_after
                  order by m.stream, m.position limit 1) is null
                or p_limit = (
                  select count(*) from (
                    select from tock.runs_{segment} b where b.stream = p_stream and b.position > v_after
                      and b.position < (
                        select m.position from tock.marks_{segment} m where m.stream = p_stream and m.position > v_after
                        order by m.stream, m.position limit 1)
                    order by b.stream, b.position limit p_limit) b))
            order by r.stream, r.position limit p_limit) r) n
        where n.upto <= p_bytes or (p_one and n.upto = n.cost)
      ), leased as (
        insert into tock.leases_{segment} (stream, after_position, last_position, runs, token, worker, leased_until)
        select p_stream, v_after, p.last_position, p.runs, p_token, p_worker, p_until
        from (select max(p.position) as last_position, count(*) as runs from picked p) p
        where p.runs > 0
      )
      select p_token, p_until, coalesce(p.task_id, p.position << 20 | p_stream), p.position << 20 | p_stream,
        p.attempt::integer, coalesce(p.max_attempts, p_max_attempts)::integer, p_priority::integer, p.tenant,
        p.created_at, p.payload
      from picked p;
    if found then
      return;
    end if;
    -- others have claimed since the look, or what comes next is marked
    p_after := v_after;
    v_after := (
      select greatest(s.start_after, coalesce((
        select l.last_position from tock.leases_{segment} l where l.stream = p_stream
        order by l.stream desc, l.after_position desc limit 1), 0))
      from tock.streams s where s.number = p_stream);
    if v_after < {first_position} - 1 then
      return;
    end if;
    exit when v_after = p_after;
  end loop;
  if (select m.position from tock.marks_{segment} m where m.stream = p_stream and m.position > v_after
      order by m.stream, m.position limit 1) is not null
  then
    return query select * from tock.draw_marked(p_epoch, p_stream, v_after, p_limit, p_token, p_worker, p_until, p_bytes,
      p_one, p_max_attempts, p_priority);
  end if;
end $$;

comment on function tock.lease_range_{suffix} is
  'Leases what lies above a stream''s cursor in one segment and returns it, in order; nothing when another segment is meant.';
