-- The newest segments are scanned first, up to p_scan_limit dead tasks; older ones are not counted.
create or replace function tock.dead_groups(
  p_queue text, p_limit integer default 100, p_scan_limit integer default 100000)
returns table (error text, tasks integer, newest_at timestamptz, newest_id bigint, counted_all boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_since timestamptz := pg_catalog.now() - (tock.policy(p_queue)).retention_seconds * interval '1 second';
  v_segment integer;
  v_left integer := p_scan_limit;
  v_seen integer;
  v_part jsonb;
  v_parts jsonb := '[]';
begin
  perform tock.check_queue_name(p_queue);
  perform tock.check_range(p_limit, 1, 1000, 'limit');
  perform tock.check_range(p_scan_limit, 1, 1000000, 'scan_limit');
  for v_segment in
    select e.number from tock.segments e
    where e.first_position <= (select s.last_value from tock.positions s)
      and (e.closed_at is null or e.dead ? p_queue)
    order by e.number desc
  loop
    exit when v_left <= 0;
    execute pg_catalog.format('select d.* from tock.dead_groups_%s($1, $2, $3) d', v_segment)
      into v_seen, v_part using p_queue, v_left, v_since;
    v_left := v_left - v_seen;
    v_parts := v_parts || v_part;
  end loop;
  return query
    select g.error, sum(g.tasks)::integer, max(g.newest_at),
      (pg_catalog.array_agg(g.newest_id order by g.newest_at desc))[1], v_left > 0
    from pg_catalog.jsonb_to_recordset(v_parts) g (error text, tasks bigint, newest_at timestamptz,
      newest_id bigint)
    group by g.error order by 2 desc, 3 desc limit p_limit;
  if not found and v_left <= 0 then
    return query select null::text, 0, null::timestamptz, null::bigint, false;
  end if;
end $$;

comment on function tock.dead_groups is
  'Dead tasks of a queue that were not run again, grouped by the first 200 characters of their error, the '
  'most frequent first, each with its newest task. Scans the newest p_scan_limit dead tasks; counted_all '
  'says whether those were all.';

-- Runs up to p_limit dead tasks again as redrive() does, with checked arguments: their new ids, and the
-- cursor of the next page. Dead tasks are final, so nothing is locked. If two calls redrive one task, the
-- primary key of reruns lets only one of them succeed. The last 14 digits of a cursor are the time of the
-- first call, because a task may die later of a run that lies below the cursor.
create or replace function tock.redrive_page(
  p_queue text, p_filter jsonb, p_limit integer, p_cursor text, p_to_queue text, p_again boolean,
  p_reason text, out ids bigint[], out cursor text, out scanned integer)
language plpgsql volatile as $$
declare
  v_began text := case when p_cursor ~ '^[0-9a-f]{26}$' then pg_catalog.right(p_cursor, 14) end;
  v_page record;
  v_made tock.resolved_task[];
begin
  v_page := tock.list_tasks(p_filter || pg_catalog.jsonb_build_object('queue', p_queue, 'state', 'dead',
      'ended_by', tock.from_micros(('x0' || v_began)::bit(60)::bigint))
    || case when not coalesce(p_again, false) then '{"rerun": false}'
      else '{}' end::jsonb,
    case when v_began is null then p_cursor else pg_catalog.left(p_cursor, 12) end, p_limit);
  v_made := tock.run_all_again(array(
    -- the oldest first, in the order of their creation
    select row(row_number() over (order by x.n desc), x.task ->> 'id', x.task ->> 'run_id', 'dead',
      p_queue)::tock.resolved_task
    from pg_catalog.jsonb_array_elements(v_page.tasks) with ordinality x (task, n)
    order by x.n desc), coalesce(p_to_queue, p_queue), 'redrive', coalesce(p_again, false), p_reason);
  ids := array(select m.current_id from unnest(v_made) m);
  cursor := v_page.cursor || coalesce(v_began, pg_catalog.lpad(pg_catalog.to_hex(
    tock.micros(pg_catalog.clock_timestamp())::bigint), 14, '0'));
  scanned := v_page.scanned;
end $$;

create or replace function tock.redrive(
  p_queue text, p_filter jsonb default '{}', p_limit integer default 1000, p_cursor text default null,
  p_request_id text default null, p_to_queue text default null, p_again boolean default false,
  p_reason text default null)
returns table (redriven integer, ids bigint[], cursor text, scanned integer) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_digest bigint;
  v_seen tock.requests;
begin
  perform tock.check_read_committed('redrive');
  perform tock.check_queue(p_queue);
  perform tock.check_queue(coalesce(p_to_queue, p_queue), 'to_queue', 422);
  perform tock.check_not_webhooks(p_to_queue, 'to_queue') where p_to_queue <> p_queue;
  perform tock.check_filter(p_filter, array['dead'], p_limit, 10000, array['tenant', 'error']);
  if p_request_id is not null then
    v_digest := pg_catalog.hashtextextended(
      pg_catalog.jsonb_build_array(p_filter, p_limit, p_cursor, p_to_queue, p_again, p_reason)::text, 0);
    v_seen := tock.request_seen('redrive', p_queue, p_request_id, v_digest);
    if v_seen.answer is not null then
      return query
        select pg_catalog.cardinality(v_seen.ids), v_seen.ids, v_seen.answer ->> 0,
          (v_seen.answer ->> 1)::integer;
      return;
    end if;
  end if;
  select p.ids, p.cursor, p.scanned into ids, cursor, scanned
  from tock.redrive_page(p_queue, p_filter, p_limit, p_cursor, p_to_queue, p_again, p_reason) p;
  redriven := pg_catalog.cardinality(ids);
  perform tock.write_audit_log('redrive', p_queue,
    pg_catalog.jsonb_build_object('filter', p_filter, 'to_queue', p_to_queue, 'again', p_again,
    'reason', p_reason, 'redriven', redriven));
  if p_request_id is not null then
    insert into tock.requests (verb, queue, request_id, digest, ids, answer)
      values ('redrive', p_queue, p_request_id, v_digest, ids,
        pg_catalog.jsonb_build_array(cursor, scanned))
      on conflict do nothing;  -- a conflict is possible only under an old snapshot, and raises 40001 there
  end if;
  return next;
end $$;

comment on function tock.redrive is
  'Runs up to p_limit dead tasks of a queue again as new tasks ({tenant, error}: as dead_groups() shows '
  'it), in p_to_queue if given; tasks that were run again before only with p_again. Returns one row: the '
  'number, the new ids, and the cursor of the next page, null at the end. Later pages leave out tasks that '
  'died after the first call. A repeated call with the same request_id returns the same for 24 hours.';
