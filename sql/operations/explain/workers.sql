-- Why ready tasks of a queue are not claimed or pushed: paused, a limit, no worker, or too few. A worker
-- whose claim was empty may wait for up to 30 s (retry_after_seconds) before it claims again. A push or a
-- consumer of the Worker runs at its alarm, or once a minute.
create or replace function tock.why_of_takers(p_queue text)
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
declare
  v_is record;
  v_last timestamptz;
  v_limits record;
  v_pushed boolean := (select q.push is not null from tock.queues q where q.name = p_queue);
  v_ready text;
begin
  select s.* into v_is from tock.queue_stats(p_queue) s;
  if v_is.ready = 0 or v_is.ready is null then
    return;
  end if;
  v_ready := pg_catalog.format('%s ready, the oldest for %s', tock.some_tasks(v_is.ready, 'is', 'are'),
    tock.ago(v_is.oldest_ready_at));
  if v_is.paused then
    return query select 'the queue is paused', 'warning', v_ready || ', and claims return none',
      pg_catalog.format('resume it: the button Resume, or tock queue resume %s', p_queue);
    return;
  end if;
  select l.* into v_limits from tock.limits(p_queue) l;
  -- Between an end and the next claim one fewer runs than may.
  if v_limits.running >= v_limits.max_running - (v_limits.max_running > 3)::integer
    and v_is.ready > v_limits.max_running - v_limits.running then
    return query select 'max_running holds tasks back', 'note',
      pg_catalog.format('%s of %s (max_running); ready: %s', tock.some(v_limits.running, 'runs', 'run'),
        v_limits.max_running, pg_catalog.to_char(v_is.ready, 'FM999,999,990')),
      'make the tasks shorter, or raise max_running; more tasks run only if the workers take more at once';
    return;
  elsif v_limits.level < 1 then
    return query select 'the rate holds tasks back', 'note',
      pg_catalog.format('%s may start in %s s%s, the next in %s s; ready: %s', v_limits.rate_limit,
        v_limits.rate_seconds,
        case when v_limits.rate_burst <> v_limits.rate_limit
          then pg_catalog.format(', and %s at once', v_limits.rate_burst) end,
        ceil((1 - v_limits.level) * v_limits.rate_seconds / v_limits.rate_limit),
        pg_catalog.to_char(v_is.ready, 'FM999,999,990')),
      'this is the effect of the rate; raise rate_limit if it is too low';
    return;
  end if;
  if v_is.oldest_ready_at > pg_catalog.clock_timestamp() - interval '15 seconds' then
    return;
  end if;
  v_last := (
    select max(l.active_at) from (
      select s.number from tock.streams s where s.queue = p_queue and s.awake
      order by s.queue, s.priority limit 32) s
    cross join lateral tock.glance_at_stream(s.number) l);
  if v_is.running > 0 or v_last >= pg_catalog.clock_timestamp() - interval '15 seconds' then
    return query
      select case when v_pushed then 'pushes do not keep up' else 'workers do not keep up' end, 'note',
      pg_catalog.format('%s; %s', v_ready, tock.some(v_is.running, 'runs', 'run')),
      case when v_pushed
        then 'make the endpoint answer faster, or accept more at once: the Worker sends several at a time'
        else 'start more workers, let each claim more at once, or make the tasks shorter' end;
  elsif v_is.oldest_ready_at > pg_catalog.clock_timestamp() - interval '60 seconds' then
    return query select 'workers may be waiting', 'note', v_ready,
      case when v_pushed
        then 'the Worker pushes when its alarm or its scheduled handler calls it, at least once a minute'
        else 'a worker whose claim was empty waits for its retry_after_seconds, up to 30, unless it claims '
          'with wait_seconds; a consumer of the Worker runs when its alarm or scheduled handler calls it' end;
  elsif v_pushed then
    return query select 'tasks are not pushed', 'warning',
        v_ready || coalesce(', and none was sent for ' || tock.ago(v_last), ', and none has been sent yet'),
      'set TOCK_PUSH_SECRET of the Worker, and check that its scheduled handler or POST /v1/tick is called';
  else
    return query select 'no worker claims from this queue', 'warning',
      v_ready || coalesce(', and none was claimed for ' || tock.ago(v_last),
        ', and none has been claimed yet'),
      pg_catalog.format(
        'start a worker for it, or check why the present one does not claim (POST /v1/queues/%s/claim); '
        'if the Worker consumes it, check that '
        'its alarm, its scheduled handler or POST /v1/tick is called', p_queue);
  end if;
end $$;
