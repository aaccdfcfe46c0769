-- Counts what settled epochs hold against what was handed out.
select cron.schedule('tock:audit', '* * * * *', $$select tock.run_duty('audit')$$);
