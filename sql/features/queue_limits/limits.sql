create or replace function tock.limits(p_queue text default null)
returns table (
  queue text, max_running integer, running integer, rate_limit integer, rate_seconds integer,
  rate_burst integer, level double precision) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_policy tock.queues;
  v_one tock.limiter_state;
begin
  for v_policy in
    select q.* from tock.queues q
    where q.name <> '*' and (q.max_running is not null or q.rate_limit is not null)
      and (p_queue is null or q.name = p_queue)
    order by q.name
  loop
    v_one := tock.limiter_state_of(v_policy.name, v_policy);
    queue := v_policy.name;
    max_running := v_policy.max_running;
    running := v_one.running;
    rate_limit := v_policy.rate_limit;
    rate_seconds := v_policy.rate_seconds;
    rate_burst := coalesce(v_policy.rate_burst, v_policy.rate_limit);
    level := v_one.level;
    return next;
  end loop;
end $$;

comment on function tock.limits is
  'The queues with a limit, or the named one: the number of running runs of max_running, and the level of '
  'the bucket of their rate. running is null without max_running, or while it is unknown.';

create or replace function tock.reset_limits(p_queue text)
returns table (
  queue text, max_running integer, running integer, rate_limit integer, rate_seconds integer,
  rate_burst integer, level double precision) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_newest bigint;
begin
  if not tock.wait_for_lock(tock.named_key('limit', p_queue)) then
    perform tock.refuse(503, 'another session is claiming from this queue', 'queue', 'try again');
  end if;
  if not exists (select from tock.limits(p_queue)) then
    return;
  end if;
  select a.number into v_newest from tock.queue_limiter_state a where a.queue = p_queue
  order by a.queue desc, a.number desc limit 1;
  if v_newest > 0 then
    delete from tock.queue_limiter_state a where a.queue = p_queue and a.number = v_newest;
    insert into tock.queue_limiter_state (queue, number) values (p_queue, v_newest + 1);
  end if;
  perform tock.write_audit_log('reset_limits', p_queue);
  return query select * from tock.limits(p_queue);
end $$;

comment on function tock.reset_limits is
  'Refills the bucket of the rate of a queue and counts its running runs again; no row if there is no queue '
  'of this name with a limit.';
