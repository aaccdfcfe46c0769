-- Deletes old request ids, run details of pg_cron and other expired rows.
select cron.schedule('tock:prune', '7 * * * *', $$select tock.run_maintenance('prune')$$);
