-- Drops epochs past their retention.
select cron.schedule('tock:retain', '* * * * *', $$select tock.run_duty('retain')$$);
