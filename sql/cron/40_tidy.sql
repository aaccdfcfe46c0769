-- Purges request ids and cron.job_run_details.
select cron.schedule('tock:tidy', '7 * * * *', $$select tock.run_duty('tidy')$$);
