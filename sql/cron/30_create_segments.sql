-- Makes segments ahead of the sequence.
select cron.schedule('tock:create_segments', '* * * * *', $$select tock.run_maintenance('create_segments')$$);
