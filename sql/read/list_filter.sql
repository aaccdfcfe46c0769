-- Raises TK422 for an invalid filter or limit.
create or replace function tock.check_filter(
  p_filter jsonb, p_states text[], p_limit integer, p_most integer, p_names text[])
returns void language plpgsql stable as $$
declare
  v_other text;
begin
  if pg_catalog.jsonb_typeof(p_filter) is distinct from 'object' then
    perform tock.refuse(422, 'filter must be an object with any of '
      || pg_catalog.array_to_string(p_names, ', '), 'filter');
  end if;
  select k into v_other from pg_catalog.jsonb_each(p_filter) f (k, v)
  where f.k <> all (p_names) or case f.k
    when 'rerun' then pg_catalog.jsonb_typeof(f.v) not in ('boolean', 'null')
    when 'payload' then pg_catalog.jsonb_typeof(f.v) not in ('string', 'object', 'null')
    else pg_catalog.jsonb_typeof(f.v) not in ('string', 'null') end
  limit 1;
  if found then
    perform tock.refuse(422, 'a filter may have ' || pg_catalog.array_to_string(p_names, ', ')
      || case when 'rerun' = any (p_names)
        then ', each a string, except rerun (true or false) and payload (an object)'
        else ', each a string' end, v_other);
  elsif p_filter ->> 'state' <> all (p_states) then
    perform tock.refuse(422, 'state must be ' || pg_catalog.array_to_string(p_states, ' or '), 'state');
  elsif p_limit is null or p_limit not between 1 and p_most then
    perform tock.refuse(422, 'limit must be a whole number from 1 to ' || p_most, 'limit');
  elsif p_filter ->> 'error' is not null and coalesce(p_filter ->> 'state', 'dead') <> 'dead' then
    perform tock.refuse(422, 'only dead tasks can be listed by their error', 'error',
      'leave out state, or set it to dead');
  end if;
end $$;

-- An instant of a filter; TK422 for an invalid one.
create or replace function tock.filter_time(p_filter jsonb, p_name text)
returns timestamptz language plpgsql stable as $$
begin
  return (p_filter ->> p_name)::timestamptz;
exception
  when data_exception then
    perform tock.refuse(422, p_name || ' must be an instant', p_name, 'such as 2026-11-21T09:00:00Z');
end $$;
