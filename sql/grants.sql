-- Group roles for producers, workers and administrators, of which login roles become members, and the role of
-- the HTTP server. Roles belong to the cluster: another database may have made them, or a dump was restored
-- without them. Therefore each deploy checks them.
do $$
declare
  v_missing text[] := array(
    select r from unnest(array['tock_producer', 'tock_worker', 'tock_admin', 'tock_edge']) r
    where not exists (select from pg_catalog.pg_roles g where g.rolname = r));
  v_role text;
begin
  foreach v_role in array v_missing loop
    begin
      execute format('create role %I nologin', v_role);
      if v_role = 'tock_edge' then
        alter role tock_edge set statement_timeout = '30s';
        alter role tock_edge set lock_timeout = '2s';
        alter role tock_edge set idle_in_transaction_session_timeout = '60s';
      end if;
    exception
      when duplicate_object or unique_violation then null;  -- another database made it meanwhile
    end;
  end loop;
exception
  when insufficient_privilege then
    raise exception 'this role may not create the roles %', array_to_string(v_missing, ', ')
      using hint = 'have an administrator run: create role '
        || array_to_string(v_missing, ' nologin; create role ') || ' nologin;';
end $$;

-- Each deploy makes all grants again, here. The functions named here are verbs; all others belong to the
-- owner only. PUBLIC has no rights, and no role has a right on a table, except on the view findings.
revoke all on schema tock from public, tock_producer, tock_worker, tock_admin, tock_edge cascade;
revoke all on all tables in schema tock from public, tock_producer, tock_worker, tock_admin,
  tock_edge cascade;
revoke all on all sequences in schema tock from public, tock_producer, tock_worker, tock_admin,
  tock_edge cascade;
revoke all on all routines in schema tock from public, tock_producer, tock_worker, tock_admin,
  tock_edge cascade;

grant usage on schema tock to tock_producer, tock_worker, tock_admin, tock_edge;

-- enqueue and change tasks
grant execute on function
  tock.enqueue, tock.enqueue_payloads, tock.enqueue_task, tock.cancel, tock.change, tock.reprioritize,
  tock.reschedule, tock.queue_of_task, tock.cancel_where, tock.reprioritize_where, tock.move, tock.rerun,
  tock.redrive, tock.start_bulk_change, tock.stop_bulk_change, tock.bulk_changes, tock.signal,
  tock.create_event_link, tock.assign_task, tock.assign_tasks, tock.add_tasks
  to tock_producer, tock_admin, tock_edge;

-- work on tasks
grant execute on function
  tock.claim, tock.next, tock.claim_any, tock.claim_state, tock.complete, tock.fail,
  tock.release, tock.extend, tock.queue_of_lease, tock.next_wake_at, tock.tick_by, tock.claim_for_worker,
  tock.join_pool, tock.leave_pool, tock.take_task, tock.lease_headers, tock.save_steps,
  tock.lease_steps
  to tock_worker, tock_admin, tock_edge;

-- hide what a key may not see; without a key, which is how these roles call them, they hide nothing
grant execute on function
  tock.visible_task, tock.readable, tock.readable_links, tock.own_tenant, tock.own_request_id,
  tock.tenants_of_key, tock.queues_of_key
  to tock_producer, tock_worker, tock_admin;

-- the answer of a claim as JSON
grant execute on function tock.claim_body, tock.http_claim_any to tock_worker, tock_admin;

-- read the state of tasks
grant execute on function tock.task, tock.parents, tock.parent_counts, tock.children, tock.task_steps, tock.pool,
  tock.unassign_task to tock_producer, tock_worker,
  tock_admin, tock_edge;
grant execute on function
  tock.tasks, tock.dead_groups, tock.schedule, tock.schedules, tock.schedule_history, tock.next_fires
  to tock_producer, tock_admin, tock_edge;

-- administer
grant execute on function
  tock.put_queue, tock.queue, tock.concurrency_keys, tock.put_concurrency_key, tock.reset_concurrency_key,
  tock.limits, tock.reset_limits, tock.queue_stats, tock.series, tock.overview, tock.metrics,
  tock.running, tock.workers, tock.why, tock.maintenance_jobs_list, tock.cron_jobs_list, tock.segments_list,
  tock.purge_queue, tock.drop_queue, tock.doctor,
  tock.erase, tock.create_key, tock.keys_list, tock.revoke_key, tock.rotate_key, tock.update_key,
  tock.audit_log, tock.tick, tock.pools, tock.put_schedule, tock.pause_schedule, tock.resume_schedule,
  tock.drop_schedule, tock.run_schedule, tock.queue_of_schedule, tock.push_queues, tock.has_push,
  tock.push_secret, tock.rotate_push_secret
  to tock_admin, tock_edge;

-- make this database a node of several
grant execute on function tock.found_range to tock_admin;
grant execute on function tock.copy_key to tock_admin, tock_edge;

-- the archive, which the HTTP server writes and reads
grant execute on function
  tock.put_archive, tock.end_segment, tock.enable_archive_by_default, tock.archive,
  tock.archive_part, tock.archived, tock.record_archive_step, tock.archive_unwanted, tock.archive_deleted,
  tock.archive_abandoned, tock.archive_erasing, tock.archive_erased, tock.archive_rewriting,
  tock.archive_rewritten, tock.archive_search, tock.archive_emptied
  to tock_admin, tock_edge;

-- doctor() as a view for psql; reading a view needs the right to call its functions
grant select on tock.findings to tock_admin;

-- the maintenance jobs one by one
grant execute on function
  tock.run_maintenance, tock.promote, tock.fire_schedules, tock.reap, tock.reap_pools,
  tock.deactivate_streams, tock.create_segments,
  tock.verify_segments, tock.drop_expired_segments, tock.guard, tock.isolate_tenants, tock.prune,
  tock.collect_metrics
  to tock_admin;

-- authorization, and the most frequent HTTP requests
grant execute on function
  tock.authorize, tock.known_key, tock.whoami, tock.tenants_of_key, tock.queues_of_key, tock.rights_of_task,
  tock.queue_for_authorization, tock.readable, tock.readable_links, tock.visible_task, tock.own_tenant,
  tock.own_request_id, tock.http_enqueue, tock.http_enqueue_and_claim, tock.with_trace, tock.http_claim,
  tock.claim_body, tock.http_claim_any, tock.http_complete, tock.http_task, tock.http_task_steps,
  tock.http_erase_archived, tock.authorize_steps, tock.signal_by_link
  to tock_edge;
