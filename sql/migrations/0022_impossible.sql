-- Rows that no state comes to. Runs, leases, results and streams have no more checks than before: PostgreSQL reads each
-- anew for each statement that writes its table, and every call writes those (ARCHITECTURE.md).
-- Where there may be many rows they are not looked through now, as that would hold up everybody: what is not valid
-- is asked of each row that is written from now on, and of no older one.
lock table tock.queues, tock.epochs, tock.duties, tock.waiting, tock.requests, tock.keys, tock.reruns, tock.unique_keys,
  tock.gates, tock.hours, tock.fires, tock.fired in access exclusive mode;

alter table tock.epochs
  add constraint epochs_do_not_overlap exclude using gist (int8range(first_position, end_position) with &&),
  add constraint epoch_has_a_number check (number > 0 and first_position >= 0),
  -- who was writing then is noted by the first who finds it ended
  add constraint only_what_has_ended_is_settled check (settled_at is null or writers_at_end is not null),
  add constraint only_what_is_settled_is_audited check (audited_at is null or settled_at is not null),
  add constraint drops_are_counted check (drop_tries >= 0);

alter table tock.waiting
  add constraint run_was_lost_less_often_than_begun check (lost >= 0 and attempt > lost) not valid,
  add constraint ticket_is_for_a_gate check (ticket is null or gate is not null) not valid,
  add constraint child_stands_at_no_gate check (after_due is null or ticket is null) not valid,
  add constraint replacement_has_its_task check (replaces is null or task_id is not null) not valid,
  add constraint priority_is_0_to_9 check (priority between 0 and 9) not valid;

alter table tock.reruns
  add constraint rerun_is_another_task check (id <> of_id) not valid,
  add constraint reruns_are_counted check (number > 0) not valid;

alter table tock.requests
  add constraint answer_is_of_ids check (answer is null or ids is not null) not valid;

alter table tock.unique_keys
  add constraint keys_turns_are_counted check (number > 0) not valid;

alter table tock.fires
  add constraint only_what_has_no_fire_is_never_due check ((fire_at is null) = (due_at = 'infinity')),
  add constraint fire_failed_for_a_reason check ((failures > 0) = (last_error is not null) and failures >= 0),
  add constraint last_fire_is_told_whole check (num_nulls(last_fire_at, last_fired_at, last_outcome) in (0, 3)),
  add constraint outcome_is_known check (last_outcome in ('fired', 'run', 'overlapped', 'replaced', 'missed', 'failed'));

alter table tock.fired
  add constraint what_fired_made_a_task check ((task_id is not null) = (outcome in ('fired', 'run'))) not valid,
  add constraint what_failed_says_why check ((error is not null) = (outcome = 'failed')) not valid,
  add constraint fires_are_left_out_up_to_a_later_one check (until_at >= fire_at) not valid;

alter table tock.gates
  add constraint gate_is_1_to_504_characters check (length(gate) between 1 and 504);

alter table tock.queues
  add constraint heavy_is_an_object check (jsonb_typeof(heavy) = 'object');

alter table tock.keys
  add constraint hash_is_a_sha256 check (octet_length(hash) = 32),
  add constraint key_is_for_all_queues_or_some check (cardinality(queues) > 0);

alter table tock.hours
  add constraint ends_are_counted check (done >= 0 and failed >= 0 and lost >= 0);

alter table tock.duties
  add constraint duty_comes_again check (every_seconds > 0 and failures >= 0);
