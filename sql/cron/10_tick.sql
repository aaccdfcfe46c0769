-- Runs all due maintenance jobs.
select cron.schedule('tock:tick', tock.cron_interval(5), 'select tock.tick()');
