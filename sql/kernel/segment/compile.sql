-- The statements of the hot path name their leaves, so they are text; planning them anew at each call
-- is most of its cost (ARCHITECTURE.md has the numbers). These functions hold them as plain SQL for
-- the epoch in use, so that sessions keep their plans. They are only right while the sequence is within
-- that epoch, on the server they were written on: hot_epoch() says so, and is null from then until they
-- are made again. Until then statements are planned at each call. As they may be made again between two
-- calls, each looks whether it is for the epoch that is meant. Planner settings are those of the verbs.
create or replace function tock.write_hot()
returns void
language plpgsql
volatile
as $$
declare
  v_epoch tock.epochs;
  v_end bigint;
  v_valid text;
  v_draw text;
  v_names text[] := array['p_stream', 'v_after', 'p_limit', 'p_token', 'p_worker', 'p_until', 'p_bytes', 'p_one',
    'p_max_attempts', 'p_priority'];
begin
  -- the sequence moves on meanwhile: it is read once, and the texts and their validity follow from that
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('duty', 'hot'));
  select e.* into v_epoch from tock.epochs e where e.number = tock.newest_epoch();
  if not found then
    return;  -- positions have gone past the last one since it was looked at: whoever comes makes the next
  end if;
  -- near the end of the last one they are not vouched for any more: then whoever comes makes the next
  v_end := v_epoch.end_position - case
    when exists (select from tock.epochs e where e.number > v_epoch.number) then 0
    else least(200000, (v_epoch.end_position - v_epoch.first_position) / 4) end;
  v_valid := pg_catalog.format($q$s.last_value >= %s and s.last_value < %s
      and extract(epoch from pg_catalog.pg_postmaster_start_time()) = %s and 'tock'::regnamespace = %s::oid$q$,
    v_epoch.first_position, v_end, extract(epoch from pg_catalog.pg_postmaster_start_time()), 'tock'::regnamespace::oid);
  v_draw := tock.draw_statement(v_epoch.number);
  for v_n in reverse 10 .. 1 loop
    v_draw := pg_catalog.replace(v_draw, '$' || v_n, v_names[v_n]);
  end loop;
  execute pg_catalog.format($q$
    create or replace function tock.hot_epoch()
    returns integer language plpgsql stable as $f$
    begin
      return (select case when %1$s then %2$s end from tock.positions s);
    end $f$;

    create or replace function tock.above_hot(integer, bigint)
    returns boolean language plpgsql volatile as $f$
    begin
      return (
        select s.last_value >= $2 and s.last_value >= %7$s and s.last_value < %11$s
          and s.last_value >= coalesce((select r.position from tock.runs_%2$s r where r.stream = $1
            order by r.stream desc, r.position desc limit 1), 0)
          and (pg_catalog.pg_sequence_parameters('tock.positions'::regclass)).cache_size = 1
        from tock.positions s);
    end $f$;

    create or replace function tock.append_hot(p_queue text, p_payload jsonb)
    returns bigint language plpgsql volatile as $f$
    declare
      v_slot integer := 0;
      v_bytes integer := coalesce(pg_catalog.octet_length(p_payload::text), 0);
      v_id bigint;
    begin
      while not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), 1073741824 + v_slot) loop
        v_slot := v_slot + 1;
        if v_slot = 64 then
          return null;
        end if;
      end loop;
      -- the position is drawn where all holds, and behind a fence, as it may be the next epoch's
      insert into tock.runs_%2$s (stream, position, bytes, payload)
        select n.stream, n.position, v_bytes, p_payload
        from (
          select t.number as stream, pg_catalog.nextval('tock.positions') as position
          from tock.queues q, tock.streams t, tock.positions s
          where q.name = p_queue and q.max_payload_bytes >= v_bytes
            and q.timeout_seconds is null and q.max_wait_seconds is null and (q.push is null or q.push ? 'url')
            and t.queue = p_queue and t.priority = 5 and t.lane = 0 and t.slot = v_slot and t.awake
            and s.last_value >= t.start_after
            and s.last_value >= coalesce((select r.position from tock.runs_%2$s r where r.stream = t.number
              order by r.stream desc, r.position desc limit 1), 0)
            and (pg_catalog.pg_sequence_parameters('tock.positions'::regclass)).cache_size = 1
            and %1$s
          offset 0) n
        where n.position < %8$s
        returning position << 20 | stream into v_id;
      return v_id;
    end $f$;

    create or replace function tock.look_hot(p_queue text, p_seed integer, p_seen integer[], p_limit integer, p_alone boolean)
    returns tock.look language plpgsql volatile as $f$
    begin
      return (
        select case when %1$s then row(%2$s, p_alone and %9$s, array(
          select row(c.stream, c.priority, c.after_position)::tock.candidate from (%3$s) c))::tock.look end
        from tock.positions s);
    end $f$;

    create or replace function tock.claim_one_hot(p_queue text, p_seed integer, p_worker text, p_seconds integer,
      p_alone boolean)
    returns tock.claimed language plpgsql volatile as $f$
    declare
      v_next record;
    begin
      select q.max_attempts,
        pg_catalog.clock_timestamp() + coalesce(p_seconds, q.lease_seconds) * interval '1 second' as leased_until,
        tock.new_token_of_one(%2$s, n.stream, n.after_position) as token, n.* into v_next
      from tock.queues q left join lateral (%10$s) n on true
      where q.name = p_queue and not q.paused and not q.pause_after_restore
        and q.max_running is null and q.rate_limit is null
        -- a sub-select, so that it is judged before a stream is locked
        and (select %1$s from tock.positions s) and not (p_alone and %9$s)
      limit 1;
      if v_next.position is null then
        return case when v_next.max_attempts is not null and v_next.stream is null
            and pg_catalog.current_setting('tock.claim', true) is distinct from 'busy'
          then row(null, null, 0, null, null, null, null, null, null, null)::tock.claimed end;
      end if;
      -- with the lock held, and in a new snapshot: a claim since is a conflict, the stream may have slept and
      -- woken, the run may have been marked
      insert into tock.leases_%2$s (stream, after_position, last_position, runs, token, worker, leased_until, alone)
        select v_next.stream, v_next.after_position, v_next.position, 1, v_next.token, p_worker, v_next.leased_until, true
        from tock.streams s
        where s.number = v_next.stream and s.start_after <= v_next.after_position
          and (select m.position from tock.marks_%2$s m where m.stream = v_next.stream and m.position = v_next.position
            limit 1) is null
        on conflict do nothing;
      if not found then
        return null;
      end if;
      return row(v_next.token, v_next.leased_until, coalesce(v_next.task_id, v_next.position << 20 | v_next.stream),
        v_next.position << 20 | v_next.stream, v_next.attempt, coalesce(v_next.own_attempts, v_next.max_attempts),
        v_next.priority, v_next.tenant, v_next.created_at, v_next.payload)::tock.claimed;
    end $f$;

    create or replace function tock.take_hot(p_epoch integer, p_stream integer, p_after bigint, p_limit integer, p_token uuid,
      p_worker text, p_until timestamptz, p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint)
    returns table (
      lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
      priority integer, tenant text, created_at timestamptz, payload jsonb)
    language plpgsql volatile as $f$
    #variable_conflict use_column
    declare
      v_after bigint := p_after;
    begin
      if p_epoch <> %2$s then
        return;
      end if;
      loop
        return query %4$s;
        if found then
          return;
        end if;
        -- others have claimed since the look, or what comes next is marked
        p_after := v_after;
        v_after := (%6$s);
        if v_after < %7$s - 1 then
          return;
        end if;
        exit when v_after = p_after;
      end loop;
      if (select m.position from tock.marks_%2$s m where m.stream = p_stream and m.position > v_after
          order by m.stream, m.position limit 1) is not null
      then
        return query select * from tock.draw_marked(p_epoch, p_stream, v_after, p_limit, p_token, p_worker, p_until, p_bytes,
          p_one, p_max_attempts, p_priority);
      end if;
    end $f$;

    create or replace function tock.end_hot(p_token uuid, p_epoch integer)
    returns integer language plpgsql volatile as $f$
    declare
      v_row record;
      v_runs integer;
      v_rows integer;
      v_apart boolean;
      v_watched bigint;
      v_asks boolean;
    begin
      if p_epoch <> %2$s then
        return -1;
      end if;
      -- nearly always of one run, which is said for certain only when it isn't there: that costs twelve functions
      if p_token >= '80000000-0000-0000-0000-000000000000' then
        -- it is still running, as whoever ended it by itself closed the lease with it
        update tock.leases_%2$s l set closed_at = now(), outcome = 'done'
          where %12$s and coalesce(l.closed_at, 'infinity') = 'infinity'
          returning l.runs, (
            select x.position from tock.watches x where x.stream = l.stream and x.position = l.last_position limit 1)
          into v_runs, v_watched;
        if v_runs is not null or tock.is_of_one(p_token) then
          if v_watched is not null or (v_runs is not null and not tock.sees_all()) then
            perform tock.lease_parents_moved(p_token, p_epoch);
          end if;
          return v_runs;
        end if;
      end if;
      v_asks := tock.lease_asks(p_token);
      if v_asks and (%14$s) then
        return -2;
      end if;
      for v_row in
        update tock.leases_%2$s l set closed_at = now(), outcome = 'done'
        where %13$s and coalesce(l.closed_at, 'infinity') = 'infinity'
        returning l.stream, l.after_position, l.last_position, l.runs,
          (select count(*) from tock.leases_%2$s l where %13$s) as rows, (
          select x.position from tock.watches x
          where x.stream = l.stream and x.position > l.after_position and x.position <= l.last_position
          order by x.stream, x.position limit 1) as watched
      loop
        v_runs := coalesce(v_runs, 0) + v_row.runs;
        v_rows := coalesce(v_rows, v_row.rows) - 1;
        v_watched := coalesce(v_watched, v_row.watched);
        if (select e.position from tock.results_%2$s e where e.stream = v_row.stream
          and e.position > v_row.after_position and e.position <= v_row.last_position
          order by e.stream, e.position limit 1) is not null
        then
          v_apart := true;
        end if;
      end loop;
      -- rows that were closed before count as they do when the call is repeated
      if v_apart or v_rows > 0 then
        v_runs := (%5$s);
      end if;
      if v_runs is not null and v_asks then
        perform tock.leave_gates(p_token, p_epoch);
      end if;
      if v_watched is not null or (v_runs is not null and not tock.sees_all()) then
        perform tock.lease_parents_moved(p_token, p_epoch);
      end if;
      return v_runs;
    end $f$;

    revoke all on function tock.hot_epoch(), tock.above_hot(integer, bigint), tock.append_hot(text, jsonb),
      tock.look_hot(text, integer, integer[], integer, boolean), tock.claim_one_hot(text, integer, text, integer, boolean),
      tock.take_hot(integer, integer, bigint, integer, uuid, text, timestamptz, integer, boolean, smallint, smallint),
      tock.end_hot(uuid, integer) from public, tock_producer, tock_worker, tock_admin, tock_edge;$q$,
    v_valid, v_epoch.number,
    tock.candidates_statement(v_epoch.number, v_epoch.first_position), v_draw,
    replace(tock.done_statement(v_epoch.number), '$1', 'p_token'),
    replace(tock.cursor_statement(v_epoch.number), '$1', 'p_stream'),
    v_epoch.first_position, v_epoch.end_position,
    $q$(select w.due_at from tock.waiting w
            where w.due_at <= pg_catalog.now() and w.due_at >= coalesce(
              (select p.due_at from tock.promotions p order by p.due_at desc limit 1), '-infinity')
            order by w.due_at limit 1) is not null$q$,
    tock.next_statement(v_epoch.number, v_epoch.first_position), v_end,
    replace(tock.lease_condition(v_epoch.number, true), '$1', 'p_token'),
    replace(tock.lease_condition(v_epoch.number, false), '$1', 'p_token'),
    replace(tock.leads_on_statement(v_epoch.number), '$1', 'p_token'));
  perform tock.write_hot_ends(v_epoch.number, v_epoch.first_position, v_epoch.end_position);
  perform tock.write_hot_asked(v_epoch.number, v_epoch.first_position);
end $$;

comment on function tock.write_hot is
  'Writes hot_epoch(), above_hot(), append_hot(), look_hot(), claim_one_hot(), take_hot() and end_hot() for the epoch in use.';
