-- The statements for runs with options, as 44_hot_ends.sql holds those that end runs: for the epoch in use, and
-- each says nothing where another is meant. Then they are planned at each call.
create or replace function tock.write_hot_asked(p_epoch integer, p_first bigint)
returns void
language plpgsql
volatile
as $$
declare
  v_draw text := tock.draw_statement(p_epoch, true);
  v_names text[] := array['p_stream', 'p_after', 'p_limit', 'p_token', 'p_worker', 'p_until', 'p_bytes', 'p_one',
    'p_max_attempts', 'p_priority', 'p_skips', 'p_upto'];
begin
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('duty', 'hot'));
  for v_n in reverse 12 .. 1 loop
    v_draw := pg_catalog.replace(v_draw, '$' || v_n, v_names[v_n]);
  end loop;
  execute pg_catalog.format($q$
    create or replace function tock.place_hot(p_stream integer)
    returns tock.place language plpgsql volatile as $f$
    begin
      return (
        select row(%1$s, c.after_position)::tock.place
        from (
          select greatest(s.start_after, coalesce((
            select l.last_position from tock.leases_%1$s l where l.stream = p_stream
            order by l.stream desc, l.after_position desc limit 1), 0)) as after_position
          from tock.streams s where s.number = p_stream and s.start_after >= %2$s - 1) c
        where (select r.position from tock.runs_%1$s r where r.stream = p_stream and r.position > c.after_position
          order by r.stream, r.position limit 1) is not null);
    end $f$;

    create or replace function tock.draw_marked_hot(p_epoch integer, p_stream integer, p_after bigint, p_limit integer,
      p_token uuid, p_worker text, p_until timestamptz, p_bytes integer, p_one boolean, p_max_attempts smallint,
      p_priority smallint, p_skips bigint[], p_upto bigint)
    returns table (
      lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
      priority integer, tenant text, created_at timestamptz, payload jsonb)
    language plpgsql volatile as $f$
    #variable_conflict use_column
    begin
      if p_epoch = %1$s then
        return query %3$s;
      end if;
    end $f$;

    create or replace function tock.gates_hot(p_lease uuid, p_epoch integer)
    returns text[] language plpgsql volatile as $f$
    begin
      if p_epoch <> %1$s then
        return null;
      end if;
      return (%4$s);
    end $f$;

    create or replace function tock.ended_gates_hot(p_epoch integer, p_ended tock.ending[])
    returns text[] language plpgsql volatile as $f$
    begin
      if p_epoch <> %1$s then
        return null;
      end if;
      return (%5$s);
    end $f$;

    create or replace function tock.told_hot(p_lease uuid, p_epoch integer)
    returns jsonb language plpgsql volatile as $f$
    begin
      return case when p_epoch = %1$s then (%6$s) end;
    end $f$;

    revoke all on function tock.place_hot(integer), tock.told_hot(uuid, integer),
      tock.draw_marked_hot(integer, integer, bigint, integer, uuid, text, timestamptz, integer, boolean, smallint, smallint,
        bigint[], bigint),
      tock.gates_hot(uuid, integer), tock.ended_gates_hot(integer, tock.ending[])
      from public, tock_producer, tock_worker, tock_admin, tock_edge;$q$,
    p_epoch, p_first, v_draw, pg_catalog.replace(tock.gates_statement(p_epoch), '$1', 'p_lease'),
    pg_catalog.replace(tock.ended_gates_statement(p_epoch), '$1', 'p_ended'),
    pg_catalog.replace(tock.told_statement(p_epoch), '$1', 'p_lease'));
end $$;

comment on function tock.write_hot_asked is
  'Writes place_hot(), draw_marked_hot(), gates_hot(), ended_gates_hot() and told_hot() for an epoch and its first position. Called by write_hot().';
