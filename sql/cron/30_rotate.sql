-- Epochs ahead, by positions left.
select cron.schedule('tock:rotate', '* * * * *',
  $$set statement_timeout = '50s'; select tock.run_duty('rotate')$$);
