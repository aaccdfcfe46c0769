-- Purges request ids and cron.job_run_details.
select cron.schedule('tock:prune', '7 * * * *', $$select tock.run_maintenance('prune')$$);
