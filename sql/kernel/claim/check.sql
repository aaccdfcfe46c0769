create or replace function tock.check_claim(
  p_queue text, p_worker text, p_limit integer, p_lease_seconds integer)
returns void language plpgsql immutable as $$
begin
  perform tock.check_queue_name(p_queue);
  if p_limit is null or p_limit not between 1 and 10000 then
    perform tock.refuse(422, 'limit must be a whole number from 1 to 10000', 'limit');
  end if;
  if p_lease_seconds not between 1 and 86400 then
    perform tock.refuse(422, 'lease_seconds must be a whole number from 1 to 86400', 'lease_seconds');
  end if;
  if pg_catalog.length(p_worker) > 200 then
    perform tock.refuse(422, 'worker must be a name of up to 200 characters', 'worker');
  end if;
end $$;

comment on function tock.check_claim is 'Raises TK422 for invalid arguments of claim().';
