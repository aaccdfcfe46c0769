select cron.schedule('tock:reap', tock.cron_interval(10),
  $$set statement_timeout = '50s'; select tock.run_duty('reap')$$);
