-- Segments ahead, by positions left.
select cron.schedule('tock:create_segments', '* * * * *', $$select tock.run_maintenance('create_segments')$$);
