-- Compares the runs of closed segments with their leases.
select cron.schedule('tock:verify_segments', '* * * * *', $$select tock.run_maintenance('verify_segments')$$);
