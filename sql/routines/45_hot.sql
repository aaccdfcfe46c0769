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
  v_draw text;
  v_end bigint;
  v_names text[] := array['p_stream', 'v_after', 'p_limit', 'p_token', 'p_worker', 'p_until', 'p_bytes', 'p_one',
    'p_max_attempts', 'p_priority'];
begin
  -- the sequence moves on meanwhile: it is read once, and the texts and their validity follow from that
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('duty', 'hot'));
  select e.* into v_epoch from tock.epochs e where e.number = tock.newest_epoch();
  -- near the end of the last one they are not vouched for any more: then whoever comes makes the next
  v_end := v_epoch.end_position - case
    when exists (select from tock.epochs e where e.number > v_epoch.number) then 0
    else least(200000, (v_epoch.end_position - v_epoch.first_position) / 4) end;
  v_draw := tock.draw_statement(v_epoch.number);
  for v_n in reverse 10 .. 1 loop
    v_draw := pg_catalog.replace(v_draw, '$' || v_n, v_names[v_n]);
  end loop;
  execute pg_catalog.format($q$
    create or replace function tock.hot_epoch()
    returns integer language plpgsql stable as $f$
    begin
      return (
        select case when s.last_value >= %8$s and s.last_value < %1$s then %2$s end from tock.positions s
        where extract(epoch from pg_catalog.pg_postmaster_start_time()) = %9$s and 'tock'::regnamespace = %10$s::oid);
    end $f$;

    create or replace function tock.above_hot(integer, bigint)
    returns boolean language plpgsql volatile as $f$
    begin
      return (
        select s.last_value >= $2 and s.last_value >= %8$s and s.last_value < %1$s
          and s.last_value >= coalesce((select r.position from tock.runs_%2$s r where r.stream = $1
            order by r.stream desc, r.position desc limit 1), 0)
          and (pg_catalog.pg_sequence_parameters('tock.positions'::regclass)).cache_size = 1
        from tock.positions s);
    end $f$;

    create or replace function tock.candidates_hot(text, integer, integer[], integer)
    returns tock.candidate[] language plpgsql volatile as $f$
    begin
      return array(%3$s);
    end $f$;

    create or replace function tock.draw_hot(p_epoch integer, p_stream integer, p_limit integer, p_token uuid,
      p_worker text, p_until timestamptz, p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint)
    returns table (
      lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
      priority integer, tenant text, created_at timestamptz, payload jsonb)
    language plpgsql volatile as $f$
    #variable_conflict use_column
    declare
      v_after bigint := (%7$s);
    begin
      if p_epoch <> %2$s or v_after < %8$s - 1 then
        return;
      end if;
      return query %4$s;
      if not found and (select m.position from tock.marks_%2$s m where m.stream = p_stream and m.position > v_after
          order by m.stream, m.position limit 1) is not null
      then
        return query select * from tock.draw_marked(p_epoch, p_stream, v_after, p_limit, p_token, p_worker, p_until, p_bytes,
          p_one, p_max_attempts, p_priority);
      end if;
    end $f$;

    create or replace function tock.close_hot(uuid, integer)
    returns setof integer language plpgsql volatile as $f$
    begin
      if $2 = %2$s then
        return query %5$s;
      else
        return query execute tock.close_statement($2) using $1;
      end if;
    end $f$;

    create or replace function tock.done_hot(uuid, integer)
    returns setof integer language plpgsql volatile as $f$
    begin
      if $2 = %2$s then
        return query %6$s;
      else
        return query execute tock.done_statement($2) using $1;
      end if;
    end $f$;

    revoke all on function tock.hot_epoch(), tock.above_hot(integer, bigint),
      tock.candidates_hot(text, integer, integer[], integer), tock.draw_hot(integer, integer, integer, uuid, text,
        timestamptz, integer, boolean, smallint, smallint),
      tock.close_hot(uuid, integer), tock.done_hot(uuid, integer) from public, tock_producer, tock_worker, tock_admin, tock_edge;$q$,
    v_end, v_epoch.number, tock.candidates_statement(v_epoch.number, v_epoch.first_position),
    v_draw, tock.close_statement(v_epoch.number), tock.done_statement(v_epoch.number),
    replace(tock.cursor_statement(v_epoch.number), '$1', 'p_stream'), v_epoch.first_position,
    extract(epoch from pg_catalog.pg_postmaster_start_time()), 'tock'::regnamespace::oid);
end $$;

comment on function tock.write_hot is
  'Writes hot_epoch(), above_hot(), candidates_hot(), draw_hot(), close_hot() and done_hot() for the epoch in use.';

select tock.guard();
select tock.write_hot();

comment on function tock.hot_epoch is 'The epoch in use, while the hot functions are right for it; else null. Written by write_hot().';
comment on function tock.above_hot is 'Whether the next position is above a stream''s runs, as it must be; not true when that takes a closer look. Written by write_hot().';
comment on function tock.candidates_hot is 'candidates_statement() for the epoch in use. Written by write_hot().';
comment on function tock.draw_hot is 'draw_statement() for the epoch in use. Written by write_hot().';
comment on function tock.done_hot is 'done_statement() for the epoch in use. Written by write_hot().';
comment on function tock.close_hot is 'close_statement() for the epoch in use. Written by write_hot().';
