-- Seconds to wait after the n-th failure: base (fixed), base * n (linear) or base * factor^(n-1)
-- (exponential), capped, minus a random share of up to the jitter.
create or replace function tock.backoff_seconds(p_policy tock.queues, p_failures integer)
returns double precision language sql volatile as $$
  select least(p_policy.backoff_cap_seconds, p_policy.backoff_base_seconds * case p_policy.backoff_kind
      when 'fixed' then 1
      when 'linear' then p_failures
      else p_policy.backoff_factor ^ least(p_failures - 1, 300) end)
    * (1 - p_policy.backoff_jitter * pg_catalog.random())
$$;

-- The policy of a queue with the backoff of a task that has its own.
create or replace function tock.own_policy(p_policy tock.queues, p_options jsonb)
returns tock.queues language plpgsql stable as $$
begin
  if p_options -> 'backoff' is null then
    return p_policy;
  end if;
  return pg_catalog.jsonb_populate_record(p_policy, (
    -- round like the settings of a queue: a number too small for double precision would raise an error and
    -- stop the reaper for all queues
    select pg_catalog.jsonb_object_agg('backoff_' || b.key, case pg_catalog.jsonb_typeof(b.value)
      when 'number' then pg_catalog.to_jsonb(pg_catalog.round(b.value::numeric, 6)) else b.value end)
    from pg_catalog.jsonb_each(p_options -> 'backoff') b));
end $$;

-- The time when a lost or released task is ready again: at once, or through tock.waiting if its concurrency
-- key is paused. end_runs() makes a task wait if this time is later than its own clock_timestamp(). For all
-- runs of a call, both are read within a second.
create or replace function tock.ready_again_at(p_queue text, p_options jsonb)
returns timestamptz language sql volatile as $$
  select case when (
      select g.paused from tock.concurrency_keys g
      where g.queue = p_queue and g.concurrency_key = p_options ->> 'concurrency_key')
    then pg_catalog.clock_timestamp() + interval '1 second' else '-infinity' end
$$;

-- The time of the next attempt after a failure: in p_seconds, or after the backoff; null after the last
-- attempt. With concurrency_retry yield, or while its concurrency key is paused, a task returns through
-- tock.waiting, so its time must be later than now.
create or replace function tock.next_attempt_at(
  p_policy tock.queues, p_options jsonb, p_attempt integer, p_lost integer, p_max_attempts integer,
  p_seconds double precision default null)
returns timestamptz language sql volatile as $$
  select case when p_attempt - p_lost < coalesce(p_max_attempts, p_policy.max_attempts) then
    greatest(tock.ready_again_at(p_policy.name, p_options),
      pg_catalog.clock_timestamp() + interval '1 second' * greatest(
      coalesce(p_seconds, tock.backoff_seconds(tock.own_policy(p_policy, p_options), p_attempt - p_lost)),
      case when p_options ->> 'concurrency_key' not like 'key:%'
        and p_policy.concurrency_retry = 'yield' then 0.05
        else 0 end)) end
$$;

-- The options of runs of a segment, by position.
create or replace function tock.options_of(p_segment integer, p_runs tock.leased_run[])
returns jsonb language plpgsql volatile as $$
declare
  v_options jsonb;
begin
  execute pg_catalog.format($q$
    select coalesce(pg_catalog.jsonb_object_agg(r.position, r.options), '{}')
    from unnest($1) u
    cross join lateral (
      select r.position, r.options from tock.runs_%s r
      where r.stream = u.stream and r.position = u.position offset 0) r$q$, p_segment)
    into v_options using p_runs;
  return v_options;
end $$;
