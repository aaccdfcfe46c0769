-- Promotion and whatever else is due. A duty is bounded by its limits; the timeout is the net.
select cron.schedule('tock:tick', tock.cron_interval(5),
  $$set statement_timeout = '50s'; select tock.tick()$$);
