select cron.schedule('tock:reap', tock.cron_interval(10), $$select tock.run_maintenance('reap')$$);
