-- True if a concurrency key has no settings, no holder and no waiter, and no task has used it for a day.
create or replace function tock.is_idle_concurrency_key(p_concurrency_key tock.concurrency_keys)
returns boolean language plpgsql volatile as $$
begin
  return p_concurrency_key.created_at <= pg_catalog.now() - interval '1 day' and not p_concurrency_key.paused
    and coalesce(p_concurrency_key.concurrency_limit, p_concurrency_key.concurrency_rate_limit,
      p_concurrency_key.concurrency_rate_seconds, p_concurrency_key.concurrency_rate_burst) is null
    and coalesce((
      select t.admitted_at <= pg_catalog.now() - interval '1 day' from tock.concurrency_admissions t
      where t.queue = p_concurrency_key.queue and t.concurrency_key = p_concurrency_key.concurrency_key
      order by t.queue desc, t.concurrency_key desc, t.number desc limit 1), true)
    and tock.holders_of(p_concurrency_key.queue, p_concurrency_key.concurrency_key, 'keep') = '{}'
    and (select w.position from tock.waiting w
      where w.lost >= 0 and w.queue = p_concurrency_key.queue
        and w.concurrency_key = p_concurrency_key.concurrency_key and w.ticket is not null
      order by w.queue, w.concurrency_key, w.ticket limit 1) is null;
end $$;

-- Deletes concurrency keys without settings that no task has used for a day, among p_limit of them; returns
-- the number. A call checks p_limit concurrency keys, from where the last call stopped. Only keys that look
-- idle are locked, and checked again under the lock.
create or replace function tock.prune_concurrency_keys(p_limit integer)
returns integer language plpgsql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_after text[] := (select d.reached_key from tock.maintenance_jobs d where d.name = 'prune');
  v_seen tock.concurrency_keys[] := array(
    select g::tock.concurrency_keys from tock.concurrency_keys g
    where (g.queue, g.concurrency_key) > (coalesce(v_after[1], ''), coalesce(v_after[2], ''))
    order by g.queue, g.concurrency_key limit p_limit);
  v_idle tock.concurrency_keys[] := array(select g::tock.concurrency_keys from unnest(v_seen) g
    where tock.is_idle_concurrency_key(g));
  v_concurrency_key tock.concurrency_keys;
  v_count integer := 0;
begin
  foreach v_concurrency_key in array v_idle loop
    v_concurrency_key := (tock.lock_concurrency_keys(array[v_concurrency_key.queue],
      array[v_concurrency_key.concurrency_key], false))[1];
    continue when v_concurrency_key.concurrency_key is null
      or not tock.is_idle_concurrency_key(v_concurrency_key);
    delete from tock.concurrency_admissions t where t.queue = v_concurrency_key.queue
      and t.concurrency_key = v_concurrency_key.concurrency_key;
    delete from tock.concurrency_keys g where g.queue = v_concurrency_key.queue
      and g.concurrency_key = v_concurrency_key.concurrency_key;
    v_count := v_count + 1;
  end loop;
  v_after := case when pg_catalog.cardinality(v_seen) >= p_limit
    then array[(v_seen[p_limit]).queue, (v_seen[p_limit]).concurrency_key] end;
  update tock.maintenance_jobs d set reached_key = v_after
  where d.name = 'prune' and d.reached_key is distinct from v_after;
  return v_count;
end $$;
