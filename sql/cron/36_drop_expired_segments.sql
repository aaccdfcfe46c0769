-- Drops segments past their retention.
select cron.schedule('tock:drop_expired_segments', '* * * * *',
  $$select tock.run_maintenance('drop_expired_segments')$$);
