-- What others gave a task stands beside its own payload, in one whole: {payload, parents}, or {payload,
-- result, children}. That it does its options say, never the payload, which may look so by chance. What isn't
-- the whole that they speak of is a payload of its own: nothing here can fail, as a task that failed at its
-- turn would stop promotion and reaping for all.
create or replace function tock.is_whole(p_payload jsonb, p_options jsonb)
returns boolean
language sql
immutable
as $$
  select coalesce(p_options ?| array['gathered', 'resume'] and pg_catalog.jsonb_typeof(p_payload) = 'object'
    and p_payload ? 'payload', false)
$$;

comment on function tock.is_whole is
  'Whether a task''s payload is what others gave it with its own payload in it.';

create or replace function tock.own_payload(p_payload jsonb, p_options jsonb)
returns jsonb
language sql
immutable
as $$
  select case when tock.is_whole(p_payload, p_options) then nullif(p_payload -> 'payload', 'null')
    else p_payload end
$$;

comment on function tock.own_payload is 'A task''s own payload, without what its parents or children gave.';

create or replace function tock.with_own_payload(p_payload jsonb, p_options jsonb, p_own jsonb)
returns jsonb
language sql
immutable
as $$
  select case when tock.is_whole(p_payload, p_options)
    then pg_catalog.jsonb_set(p_payload, '{payload}', coalesce(p_own, 'null')) else nullif(p_own, 'null') end
$$;

comment on function tock.with_own_payload is
  'A task''s payload with another of its own, beside what its parents or children gave.';
