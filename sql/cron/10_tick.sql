-- Promotion and whatever else is due.
select cron.schedule('tock:tick', tock.cron_interval(5), 'select tock.tick()');
