-- An instant as text for people.
create or replace function tock.utc(p_at timestamptz)
returns text language sql immutable as $$
  select pg_catalog.to_char(p_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;

-- How long ago, in words.
create or replace function tock.ago(p_at timestamptz)
returns text language sql volatile strict as $$
  select case
    when s.n < 120 then s.n || ' s'
    when s.n < 7200 then s.n / 60 || ' min'
    when s.n < 172800 then s.n / 3600 || ' h'
    else s.n / 86400 || ' days' end
  from (select greatest(0, extract(epoch from pg_catalog.clock_timestamp() - p_at))::bigint as n) s
$$;

-- A number with the matching noun: 1 task, 1,339 tasks.
create or replace function tock.some(p_count bigint, p_one text, p_more text default null)
returns text language sql immutable as $$ select pg_catalog.to_char(p_count, 'FM999,999,999,999,990')
  || ' ' || case when p_count = 1 then p_one else coalesce(p_more, p_one || 's') end $$;

-- A number of tasks with the matching verb.
create or replace function tock.some_tasks(p_count bigint, p_one text, p_more text)
returns text language sql immutable
as $$ select tock.some(p_count, 'task ' || p_one, 'tasks ' || p_more) $$;

-- The first 200 characters of a payload of up to 16 KiB, for lists; null for a larger one.
create or replace function tock.preview(p_payload json, p_bytes integer)
returns text language sql immutable as $$
  select case when p_bytes <= 16384 then pg_catalog.left(p_payload::text, 200) end
$$;

-- The message of an error, or the whole error if it has none; at most 200 characters.
create or replace function tock.error_text(p_error jsonb)
returns text language sql immutable as $$
  select pg_catalog.left(coalesce(
    case when pg_catalog.jsonb_typeof(p_error) = 'object' then p_error ->> 'message' end, p_error #>> '{}'),
    200)
$$;
