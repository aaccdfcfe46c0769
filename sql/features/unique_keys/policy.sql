-- How long the holder of the key of a task counts: pending, unfinished or period.
create or replace function tock.key_policy(p_task jsonb)
returns text language sql immutable as $$
  select coalesce(p_task ->> 'unique_policy',
    case when coalesce(p_task ->> 'on_conflict', 'keep') = 'keep' then 'unfinished' else 'pending' end)
$$;

-- True if the last task of a key, with this state, still counts for a new task.
create or replace function tock.counts(
  p_task jsonb, p_state text, p_created_at timestamptz, p_now timestamptz)
returns boolean language sql immutable as $$
  select coalesce(p_state in ('waiting', 'ready')
    or (tock.key_policy(p_task) in ('unfinished', 'period') and p_state = 'running')
    or (tock.key_policy(p_task) = 'period' and coalesce(p_state, '') not in ('cancelled', 'expired')
      and p_created_at
      + pg_catalog.round((p_task ->> 'unique_seconds')::numeric, 6)::float8 * interval '1 second' > p_now),
      false)
$$;
