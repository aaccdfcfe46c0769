-- The position below which a listing continues; TK422 for an invalid cursor.
create or replace function tock.list_below(p_cursor text)
returns bigint language plpgsql stable as $$
declare
  v_below bigint := 9223372036854775807;
begin
  if p_cursor ~ '^[0-9a-f]{12}$' then
    v_below := ('x' || pg_catalog.lpad(p_cursor, 16, '0'))::bit(64)::bigint;
  elsif p_cursor is not null then
    perform tock.refuse(422, 'the cursor is not from this list', 'cursor',
      'send the cursor of the previous page, with the same filter');
  end if;
  return v_below;
end $$;
