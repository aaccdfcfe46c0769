-- The statements of the hot path name their leaves, so they are text; planning them anew at each call
-- is most of its cost (ARCHITECTURE.md has the numbers). These functions hold them as plain SQL for
-- the epochs in use, so that sessions keep their plans. They are only right while the sequence is
-- within the newest epoch they read: hot_epoch() says so, and is null from then until they are made
-- again. Until then claim() and complete() plan their statements at each call. Planner settings are
-- those of claim() and complete(), which alone call them.
create or replace function tock.write_hot()
returns void
language plpgsql
volatile
as $$
declare
  v_oldest integer;
  v_newest tock.epochs;
  v_draw text;
  v_names text[] := array['p_stream', 'v_after', 'p_limit', 'p_token', 'p_worker', 'p_until', 'p_bytes', 'p_one',
    'p_max_attempts', 'p_priority'];
begin
  -- the sequence moves on meanwhile: it is read once, and the texts and their validity follow from that
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('duty', 'hot'));
  v_oldest := tock.oldest_live_epoch();
  select e.* into v_newest from tock.epochs e where e.number = tock.newest_epoch();
  v_draw := tock.draw_statement(v_oldest, v_newest.number);
  for v_n in reverse 10 .. 1 loop
    v_draw := pg_catalog.replace(v_draw, '$' || v_n, v_names[v_n]);
  end loop;
  execute pg_catalog.format($q$
    create or replace function tock.hot_epoch()
    returns integer language plpgsql stable as $f$
    begin
      return (select case when s.last_value < %1$s then %2$s end from tock.positions s);
    end $f$;

    create or replace function tock.candidates_hot(text, integer, integer[], integer)
    returns tock.candidate[] language plpgsql volatile as $f$
    begin
      return array(%3$s);
    end $f$;

    create or replace function tock.draw_hot(p_stream integer, p_first bigint, p_end bigint, p_limit integer,
      p_token uuid, p_worker text, p_until timestamptz, p_bytes integer, p_one boolean, p_max_attempts smallint,
      p_priority smallint)
    returns table (
      lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
      priority integer, tenant text, created_at timestamptz, payload jsonb)
    language plpgsql volatile as $f$
    #variable_conflict use_column
    declare
      v_after bigint := (%7$s);
    begin
      if v_after >= p_first and v_after < p_end then
        return query %4$s;
      end if;
    end $f$;

    create or replace function tock.close_hot(uuid)
    returns setof integer language plpgsql volatile as $f$
    begin
      return query %5$s;
    end $f$;

    create or replace function tock.exceptions_hot(uuid)
    returns setof integer language plpgsql volatile as $f$
    begin
      return query %6$s;
    end $f$;$q$,
    v_newest.end_position, v_newest.number, tock.candidates_statement(v_oldest, v_newest.number),
    v_draw, tock.close_statement(v_newest.number),
    tock.exceptions_statement(v_newest.number, v_newest.number),
    tock.cursor_statement(v_oldest, v_newest.number));
end $$;

comment on function tock.write_hot is
  'Writes hot_epoch(), candidates_hot(), draw_hot(), close_hot() and exceptions_hot() for the epochs in use.';

select tock.write_hot();

comment on function tock.hot_epoch is 'The epoch in use, while the hot functions are right for it; else null. Written by write_hot().';
comment on function tock.candidates_hot is 'candidates_statement() for the epochs in use. Written by write_hot().';
comment on function tock.draw_hot is 'draw_statement() for the epochs in use. Written by write_hot().';
comment on function tock.exceptions_hot is 'exceptions_statement() for the epoch in use. Written by write_hot().';
comment on function tock.close_hot is 'close_statement() for the epoch in use. Written by write_hot().';
