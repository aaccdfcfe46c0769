-- The options of a task that option_error() does not check itself, with their kind and range. runs.options
-- stores the options that matter for claims and outcomes; the others matter only while the task is enqueued.
-- The options are rows, so that one loop checks them all.
create or replace function tock.extended_options()
returns table (name text, kind text, low numeric, high numeric, words text[]) language sql immutable
as $$
  values ('concurrency_key', 'text', 1::numeric, 200::numeric, null::text[]),
    ('expires_at', 'instant', null, null, null),
    ('expires_in_seconds', 'number', 0, 315360000, null), ('timeout_seconds', 'whole', 1, 2678400, null),
    ('unique_key', 'text', 1, 500, null),
    ('unique_policy', 'word', null, null, array['pending', 'unfinished', 'period']),
    ('unique_seconds', 'number', 1, 31536000, null),
    ('on_conflict', 'word', null, null, array['keep', 'replace', 'merge', 'debounce', 'throttle', 'rerun']),
    ('debounce_max_seconds', 'number', 0, 31536000, null), ('changed_at', 'instant', null, null, null),
    ('backoff', 'backoff', null, null, null), ('name', 'name', 1, 200, null),
    ('depends_on', 'depends_on', null, null, null),
    ('on_parent_failure', 'word', null, null, array['cancel', 'run', 'wait']),
    ('include_results', 'flag', null, null, null),
    ('pipeline', 'pipeline', null, null, null), ('parent', 'id', null, null, null),
    ('headers', 'headers', null, null, null),
    ('push_url', 'url', null, null, null)
$$;

-- The options that a run stores, with the defaults of its queue; null if there are none. A unique key with
-- on_conflict rerun has its own concurrency key, named key:<unique_key>: a task enqueued during the run waits
-- for its end. Callers cannot use such names. options.stage has only what the task itself asks for: the next
-- stage of its pipeline is another queue, with other defaults.
create or replace function tock.kept_options(p_task jsonb, p_policy tock.queues, p_due_at timestamptz)
returns jsonb language sql stable as $$
  select nullif(pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
    'concurrency_key', coalesce(p_task ->> 'concurrency_key', case p_task ->> 'on_conflict'
      when 'rerun' then 'key:' || (p_task ->> 'unique_key') end),
    'unique_key', p_task ->> 'unique_key',
    'timeout_seconds', coalesce((p_task ->> 'timeout_seconds')::numeric::integer, p_policy.timeout_seconds),
    'expires_at', coalesce((p_task ->> 'expires_at')::timestamptz,
      p_due_at + interval '1 second' * coalesce(
        pg_catalog.round((p_task ->> 'expires_in_seconds')::numeric, 6)::float8,
        case when coalesce(p_task -> 'depends_on', '[]') in ('[]', 'null')
          then p_policy.max_wait_seconds end)),
    'backoff', p_task -> 'backoff', 'headers', nullif(p_task -> 'headers', '{}'),
    'push_url', p_task -> 'push_url')
    || case when p_task ?| '{depends_on,parent}' then pg_catalog.jsonb_build_object(
      'depends_on', nullif(p_task -> 'depends_on', '[]'), 'parent', p_task ->> 'parent',
      'on_parent_failure', nullif(p_task ->> 'on_parent_failure', 'cancel'),
      'include_results', nullif(p_task -> 'include_results', 'false')) else '{}' end
    || case when p_task ->> 'pipeline' is not null then pg_catalog.jsonb_build_object(
      'pipeline', p_task -> 'pipeline',
      'stage', pg_catalog.jsonb_build_object(
        'timeout_seconds', (p_task ->> 'timeout_seconds')::numeric::integer,
        'expires_at', coalesce((p_task ->> 'expires_at')::timestamptz,
          p_due_at + interval '1 second'
            * pg_catalog.round((p_task ->> 'expires_in_seconds')::numeric, 6)::float8))) else '{}' end), '{}')
$$;
