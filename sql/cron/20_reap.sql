-- The tick reaps too. This job does not wait for the tick's other jobs, and each of the two cancels a call of
-- the other that hangs (cancel_overdue()).
select cron.schedule('tock:reap', tock.cron_interval(10), $$select tock.run_maintenance('reap')$$);
