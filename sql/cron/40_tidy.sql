-- Purges request ids and cron.job_run_details.
select cron.schedule('tock:tidy', '7 * * * *',
  $$set statement_timeout = '50s'; select tock.run_duty('tidy')$$);
