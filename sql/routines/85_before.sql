-- A call that waited for migration 0007, 0009, 0011, 0012 or 0015, or was begun before the ends of runs were hot, goes on with
-- the code it began with, and calls what that knew. It has done nothing yet: it is to be made again, like after a
-- serialization failure. The release after the one with them drops these.
do $$
declare
  v_old text;
begin
  foreach v_old in array array[
    'oldest_live_epoch() returns integer',
    'epoch_of_lease(p_lease uuid) returns integer',
    'draw_hot(p_stream integer, p_first bigint, p_end bigint, p_limit integer, p_token uuid, p_worker text,
       p_until timestamptz, p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint)
     returns table (lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer,
       max_attempts integer, priority integer, tenant text, created_at timestamptz, payload jsonb)',
    'close_hot(p_lease uuid) returns setof integer',
    'candidates_hot(p_queue text, p_seed integer, p_seen integer[], p_limit integer) returns tock.candidate[]',
    'draw_hot(p_epoch integer, p_stream integer, p_limit integer, p_token uuid, p_worker text, p_until timestamptz,
       p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint)
     returns table (lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer,
       max_attempts integer, priority integer, tenant text, created_at timestamptz, payload jsonb)',
    'close_hot(p_lease uuid, p_epoch integer) returns setof integer',
    'done_hot(p_lease uuid, p_epoch integer) returns setof integer',
    'candidates_statement(p_epoch integer, p_first bigint, p_one boolean) returns text',
    'new_token(p_epoch integer) returns uuid',
    'exceptions_statement(p_epoch integer, p_newest integer) returns text',
    'end_runs(p_ended tock.ended[]) returns integer',
    'hold_lease(p_lease uuid, p_epoch integer) returns boolean',
    'end_runs(p_epoch integer, p_ended tock.ended[]) returns integer',
    'each_once(p_ended tock.ended[]) returns tock.ended[]',
    'close_statement(p_epoch integer) returns text',
    'close_ended_statement(p_epoch integer) returns text',
    'runs_of_lease(p_lease uuid, p_epoch integer, p_ids bigint[]) returns setof tock.leased_run',
    'run_state(p_stream integer, p_position bigint) returns table (state text, worker text, started_at timestamptz,
       ended_at timestamptz, result jsonb, error jsonb, next_id bigint)']
  loop
    execute format($q$
      create or replace function tock.%s
      language plpgsql volatile as $f$
      begin
        raise exception using errcode = '40001', message = 'Tock was upgraded during this call',
          hint = 'make the call again';
      end $f$ $q$, v_old);
  end loop;
end $$;

comment on function tock.oldest_live_epoch() is 'Of Tock before 0007: raises 40001.';
comment on function tock.epoch_of_lease(uuid) is 'Of Tock before 0007: raises 40001.';
comment on function tock.draw_hot(integer, bigint, bigint, integer, uuid, text, timestamptz, integer, boolean,
  smallint, smallint) is 'Of Tock before 0007: raises 40001.';
comment on function tock.close_hot(uuid) is 'Of Tock before 0007: raises 40001.';
comment on function tock.exceptions_statement(integer, integer) is 'Of Tock before 0007: raises 40001.';
comment on function tock.end_runs(tock.ended[]) is 'Of Tock before 0007: raises 40001.';
comment on function tock.end_runs(integer, tock.ended[]) is 'Of Tock before 0015: raises 40001.';
comment on function tock.each_once(tock.ended[]) is 'Of Tock before 0015: raises 40001.';
comment on function tock.run_state(integer, bigint) is 'Of Tock before 0007: raises 40001.';
comment on function tock.candidates_hot(text, integer, integer[], integer) is 'Of Tock before 0009: raises 40001.';
comment on function tock.draw_hot(integer, integer, integer, uuid, text, timestamptz, integer, boolean, smallint,
  smallint) is 'Of Tock before 0009: raises 40001.';
comment on function tock.close_hot(uuid, integer) is 'Of Tock before 0009: raises 40001.';
comment on function tock.done_hot(uuid, integer) is 'Of Tock before 0009: raises 40001.';
comment on function tock.candidates_statement(integer, bigint, boolean) is 'Of Tock before its ends were hot: raises 40001.';
comment on function tock.new_token(integer) is 'Of Tock before its ends were hot: raises 40001.';
comment on function tock.hold_lease(uuid, integer) is 'Of Tock before its ends were hot: raises 40001.';
comment on function tock.close_statement(integer) is 'Of Tock before 0011: raises 40001.';
comment on function tock.close_ended_statement(integer) is 'Of Tock before 0011: raises 40001.';
comment on function tock.runs_of_lease(uuid, integer, bigint[]) is 'Of Tock before its ends were hot: raises 40001.';
