-- Counts what settled segments hold against what was handed out.
select cron.schedule('tock:verify_segments', '* * * * *', $$select tock.run_maintenance('verify_segments')$$);
