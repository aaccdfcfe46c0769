create or replace function tock.write_cursor(p_at jsonb)
returns text
language sql
immutable
as $$
  select pg_catalog.encode(pg_catalog.convert_to(p_at::text, 'UTF8'), 'hex')
$$;

comment on function tock.write_cursor is 'A place in a listing, as callers get it.';

create or replace function tock.bound_of(p_at jsonb)
returns bigint
language sql
immutable
as $$
  select (p_at ->> case p_at ->> 0 when 'waiting' then 3 else 4 end)::bigint
$$;

comment on function tock.bound_of is 'The position that a place in a listing goes up to; null when it has no bound.';

create or replace function tock.read_cursor(p_cursor text, p_sources text[])
returns jsonb
language plpgsql
stable
as $$
declare
  v_at jsonb;
begin
  if p_cursor is null then
    return null;
  end if;
  begin
    v_at := pg_catalog.convert_from(pg_catalog.decode(p_cursor, 'hex'), 'UTF8')::jsonb;
    if v_at ->> 0 = any (p_sources) and (case v_at ->> 0
        when 'waiting' then (v_at ->> 1)::timestamptz is not null and (v_at ->> 2)::bigint >= 0
        else (v_at ->> 1)::integer > 0 and (v_at ->> 2)::integer > 0 and (v_at ->> 3)::bigint >= 0 end)
      and coalesce(tock.bound_of(v_at) >= 0, true)
    then
      return v_at;
    end if;
  exception
    when data_exception then null;
  end;
  perform tock.refuse(422, 'the cursor is not one of this list', 'cursor', 'send the one that the call before gave, with the same filter');
end $$;

comment on function tock.read_cursor is 'The place that a cursor stands for; TK422 when it is none of a list of these sources.';

create or replace function tock.sources_of(p_state text)
returns text[]
language sql
immutable
as $$
  select case coalesce(p_state, 'all') when 'waiting' then array['waiting'] when 'ready' then array['ready']
    when 'running' then array['running'] when 'dead' then array['dead'] when 'unstarted' then array['waiting', 'ready']
    when 'expired' then array['waiting', 'all'] when 'all' then array['waiting', 'all'] else array['all'] end
$$;

comment on function tock.sources_of is 'Where tasks of a state are looked for, in this order.';

-- Who goes on by cursors that they make is never done with what comes meanwhile: a redriven task may be dead again
-- before the next call. One that came from before there were bounds has its bound from now on.
create or replace function tock.bounded_cursor(p_cursor text, p_state text)
returns text
language plpgsql
volatile
as $$
declare
  v_sources text[] := tock.sources_of(p_state);
  v_at jsonb := coalesce(tock.read_cursor(p_cursor, v_sources), case v_sources[1] when 'waiting' then '["waiting", "-infinity", 0]'
    else pg_catalog.jsonb_build_array(v_sources[1], 2147483647, 1, 0) end);
begin
  return tock.write_cursor(case when tock.bound_of(v_at) is not null then v_at
    else v_at || pg_catalog.to_jsonb((select s.last_value from tock.positions s)) end);
end $$;

comment on function tock.bounded_cursor is
  'The cursor that a part of a change by filter starts from: with what the sequence had come to at the first part.';
