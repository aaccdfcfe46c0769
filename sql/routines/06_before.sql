-- Comes back in 85_before.sql: with two functions of one name, the name alone would not do.
drop function if exists tock.oldest_live_epoch();
drop function if exists tock.epoch_of_lease(uuid);
drop function if exists tock.draw_hot(integer, bigint, bigint, integer, uuid, text, timestamptz, integer, boolean,
  smallint, smallint);
drop function if exists tock.close_hot(uuid);
drop function if exists tock.exceptions_statement(integer, integer);
drop function if exists tock.end_runs(tock.ended[]);
drop function if exists tock.run_state(integer, bigint);
drop function if exists tock.candidates_hot(text, integer, integer[], integer);
drop function if exists tock.draw_hot(integer, integer, integer, uuid, text, timestamptz, integer, boolean, smallint, smallint);
drop function if exists tock.done_hot(uuid, integer);
drop function if exists tock.close_hot(uuid, integer);
drop function if exists tock.candidates_statement(integer, bigint);
drop function if exists tock.candidates_statement(integer, bigint, boolean);
drop function if exists tock.new_token(integer);
drop function if exists tock.hold_lease(uuid, integer);
drop function if exists tock.runs_of_lease(uuid, integer, bigint[]);
drop function if exists tock.list_waiting(text, text, text, integer, timestamptz, bigint, integer, integer);
drop function if exists tock.close_statement(integer);
drop function if exists tock.close_ended_statement(integer);
drop function if exists tock.end_runs(integer, tock.ended[]);
drop function if exists tock.end_runs(integer, tock.ending[]);
drop function if exists tock.each_once(tock.ended[]);
drop function if exists tock.leave_gates_at(integer, tock.ended[]);
drop function if exists tock.ended_gates_hot(integer, tock.ended[]);
drop function if exists tock.again_hot(integer, tock.ended[]);
drop function if exists tock.ended_hot(integer, tock.ended[], tock.again[], integer[]);
drop function if exists tock.heed_wishes(tock.again[]);
drop function if exists tock.spawn(integer, tock.leased_run, jsonb, jsonb, text);
drop function if exists tock.check_parents_key(text, jsonb);
drop function if exists tock.gives_way(tock.unique_keys, jsonb, bigint);
drop function if exists tock.results_fit(bigint[], bigint);
drop function if exists tock.results_of(bigint[], boolean);
drop function if exists tock.expires_at(bigint);
drop function if exists tock.whereabouts(bigint[]);
drop function if exists tock.ends_of(bigint[], boolean);
drop function if exists tock.bring_up(text, text, bigint);
drop function if exists tock.waiting_task(text);
drop function if exists tock.is_nowhere(text, text);
drop function if exists tock.pair_all(text, text[], integer);
drop function if exists tock.fires_may_be_late();
drop function if exists tock.create_key(text, text[], text[]);
drop function if exists tock.keys_list();
drop function if exists tock.authorize(text, text, text);
drop function if exists tock.doctor_of_sessions();
drop function if exists tock.looked_at_queues();
drop function if exists tock.looked_at_stream(integer);
drop function if exists tock.forget_progress(integer, integer);
drop function if exists tock.archive_files(bigint, bigint);
drop function if exists tock.archive_files_of_task(bigint);
drop function if exists tock.archive_erasing(bigint);
drop function if exists tock.archive_erased(bigint);
drop function if exists tock.archive_rewriting(text);
drop function if exists tock.archive_search(text, timestamptz, timestamptz, integer, integer, integer);
drop function if exists tock.refuse_ended_key(tock.keys);
drop function if exists tock.buckets(text, text, bigint[], double precision);
do $$
begin
  -- it says since 0009 whether it did anything
  if (select p.prorettype from pg_proc p where p.oid = to_regprocedure('tock.ride_along()')) = 'void'::regtype then
    drop function tock.ride_along();
  end if;
end $$;
