-- Raises an error of the caller: SQLSTATE TK and the HTTP status, DETAIL the field, HINT what to do next.
create or replace function tock.refuse(
  p_status integer, p_message text, p_field text default null, p_hint text default null)
returns void language plpgsql as $$
declare
  v_code text := 'TK' || p_status;
begin
  -- raise rejects an option that is null, and prints one that is empty
  if p_field is null and p_hint is null then
    raise exception using errcode = v_code, message = p_message;
  elsif p_field is null then
    raise exception using errcode = v_code, message = p_message, hint = p_hint;
  elsif p_hint is null then
    raise exception using errcode = v_code, message = p_message, detail = p_field;
  end if;
  raise exception using errcode = v_code, message = p_message, detail = p_field, hint = p_hint;
end $$;

-- Raises TK422 for a number that is null or out of range.
create or replace function tock.check_range(p_value bigint, p_low bigint, p_high bigint, p_field text)
returns void language plpgsql immutable as $$
begin
  if not coalesce(p_value between p_low and p_high, false) then
    perform tock.refuse(422,
      pg_catalog.format('%s must be a whole number from %s to %s', p_field, p_low, p_high), p_field);
  end if;
end $$;
