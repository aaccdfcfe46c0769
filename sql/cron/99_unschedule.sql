-- Unschedules every job of Tock that no file here declares any more.
select cron.unschedule(j.jobid) from cron.job j
where j.jobname like 'tock:%' and j.username = current_user
  and j.jobname not in ('tock:tick', 'tock:reap', 'tock:create_segments', 'tock:verify_segments',
    'tock:drop_expired_segments', 'tock:prune');
