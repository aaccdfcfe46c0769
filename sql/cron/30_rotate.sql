-- Epochs ahead, by positions left.
select cron.schedule('tock:rotate', '* * * * *', $$select tock.run_duty('rotate')$$);
