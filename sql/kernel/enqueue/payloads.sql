-- True if the payload of a task is wrapped with the data of its parents or children. The data of parents or
-- children stands beside the payload of the task, in one wrapper: {payload, parents} or {payload, result,
-- children}. Only the options say that a payload is wrapped, since a payload may look like a wrapper by
-- chance. A payload without the expected shape counts as not wrapped. These functions raise no errors: an
-- error in one task would stop promotion and reaping for all tasks.
create or replace function tock.is_whole(p_payload json, p_options jsonb)
returns boolean language sql immutable as $$
  select coalesce(p_options ?| array['gathered', 'resume'] and pg_catalog.json_typeof(p_payload) = 'object'
    and p_payload -> 'payload' is not null, false)
$$;

-- The payload of a task without the data of its parents or children.
create or replace function tock.own_payload(p_payload json, p_options jsonb)
returns json language sql immutable as $$
  select case when not tock.is_whole(p_payload, p_options) then p_payload
    when pg_catalog.json_typeof(p_payload -> 'payload') <> 'null' then p_payload -> 'payload' end
$$;

-- The payload of a task, with the task's own payload replaced by p_own. The data of its parents or children
-- stays.
create or replace function tock.with_own_payload(p_payload json, p_options jsonb, p_own jsonb)
returns json language sql immutable as $$
  select case when tock.is_whole(p_payload, p_options)
    then (
      select pg_catalog.json_object_agg(f.key,
        case when f.key = 'payload' then coalesce(p_own, 'null')::text::json else f.value end)
      from pg_catalog.json_each(p_payload) f)
    else nullif(p_own, 'null')::text::json end
$$;
