-- Raises TK422 for invalid arguments of claim().
create or replace function tock.check_claim(
  p_queue text, p_worker text, p_limit integer, p_lease_seconds integer)
returns void language plpgsql immutable as $$
begin
  perform tock.check_queue_name(p_queue);
  perform tock.check_range(p_limit, 1, 10000, 'limit');
  perform tock.check_range(p_lease_seconds, 1, 86400, 'lease_seconds');
  if pg_catalog.length(p_worker) > 200 then
    perform tock.refuse(422, 'worker must be a name of up to 200 characters', 'worker');
  end if;
end $$;
