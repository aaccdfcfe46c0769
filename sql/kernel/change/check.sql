-- The changes in the form in which they are stored; TK422 names an invalid field. The result has run_at as an
-- instant and the bytes of the payload, so both are computed only once.
create or replace function tock.check_changes(p_changes jsonb)
returns jsonb language plpgsql volatile as $$
declare
  v_error text[];
  v_other text;
begin
  if pg_catalog.jsonb_typeof(p_changes) is distinct from 'object' or p_changes = '{}' then
    perform tock.refuse(422,
      'changes must be an object with one or more of priority, run_at or delay_seconds, and payload',
      'changes');
  end if;
  select k into v_other from pg_catalog.jsonb_object_keys(p_changes) k
  where k not in ('priority', 'run_at', 'delay_seconds', 'payload') limit 1;
  if found then
    perform tock.refuse(422,
      v_other || ' cannot be changed; priority, run_at or delay_seconds, and payload can', v_other);
  end if;
  select k into v_other from pg_catalog.jsonb_each(p_changes) c (k, v)
  where c.v = 'null' and k <> 'payload' limit 1;
  v_error := case when found
    then array[v_other, v_other || ' cannot be null; leave it out to keep its value']
    else tock.option_error(p_changes - 'payload') end;
  if v_error is not null then
    perform tock.refuse(422, v_error[2], v_error[1]);
  end if;
  return p_changes - 'delay_seconds'
    || case when p_changes ? 'priority'
      then pg_catalog.jsonb_build_object('priority', (p_changes ->> 'priority')::numeric::integer)
      else '{}' end
    || case when p_changes ? 'delay_seconds'
      then pg_catalog.jsonb_build_object('run_at', pg_catalog.clock_timestamp()
      + pg_catalog.round((p_changes ->> 'delay_seconds')::numeric, 6)::float8 * interval '1 second')
      else '{}' end
    || case when p_changes ? 'payload' then pg_catalog.jsonb_build_object('bytes',
      coalesce(pg_catalog.octet_length(nullif(p_changes -> 'payload', 'null')::text), 0)) else '{}' end;
end $$;

-- Raises TK422 for a payload that is too large for its queue, or too large for so many tasks in one call.
create or replace function tock.check_payload_fits(p_changes jsonb, p_queue text, p_tasks integer)
returns void language plpgsql stable as $$
declare
  v_max integer := (tock.policy(p_queue)).max_payload_bytes;
begin
  if (p_changes ->> 'bytes')::integer > v_max then
    perform tock.refuse(422,
      pg_catalog.format('queue %s accepts payloads of up to %s bytes of JSON', p_queue, v_max), 'payload',
      'store large data elsewhere and send its address, or raise max_payload_bytes of the queue');
  elsif (p_changes ->> 'bytes')::bigint * p_tasks > 67108864 then
    perform tock.refuse(422,
      'the payload, stored for each of these tasks, has over 64 MiB of JSON in all', 'payload',
      'change fewer tasks in one call');
  end if;
end $$;
