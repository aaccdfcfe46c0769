-- No page has run yet, so the cursor lies above all positions that exist. It leaves out what is newer than
-- this call, in the form of list_unfinished() and redrive().
create or replace function tock.start_bulk_change(
  p_queue text, p_change text, p_filter jsonb default '{}', p_options jsonb default '{}',
  p_request_id text default null)
returns bigint language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_dead boolean := coalesce(p_change = 'redrive', false);
  v_allowed text[] := case p_change when 'reprioritize' then array['priority']
    when 'redrive' then array['to_queue', 'again', 'reason'] else '{}' end;
  v_other text;
  v_digest bigint;
  v_newest bigint;
  v_id bigint;
begin
  perform tock.check_queue(p_queue);
  if p_change is null or p_change not in ('cancel', 'reprioritize', 'redrive') then
    perform tock.refuse(422, 'change must be cancel, reprioritize or redrive', 'change');
  end if;
  perform tock.check_filter(p_filter,
    case when v_dead then array['dead'] else array['waiting', 'ready', 'running'] end, 1, 1,
    case when v_dead then array['tenant', 'error'] else array['state', 'tenant'] end);
  if pg_catalog.jsonb_typeof(p_options) is distinct from 'object' then
    perform tock.refuse(422, 'options must be an object', 'options');
  end if;
  v_other := (select k from pg_catalog.jsonb_object_keys(p_options) k where k <> all (v_allowed) limit 1);
  if v_other is not null then
    perform tock.refuse(422, pg_catalog.format('the change %s has no %s', p_change, v_other), v_other);
  elsif p_change = 'reprioritize' and coalesce(p_options -> 'priority', 'null') = 'null' then
    perform tock.refuse(422, 'a reprioritize needs a priority, 0 to 9', 'priority');
  elsif p_change = 'reprioritize' then
    perform tock.check_changes(pg_catalog.jsonb_build_object('priority', p_options -> 'priority'));
  elsif pg_catalog.jsonb_typeof(p_options -> 'again') not in ('boolean', 'null') then
    perform tock.refuse(422, 'again must be true or false', 'again');
  elsif pg_catalog.length(p_options ->> 'reason') not between 1 and 200 then
    perform tock.refuse(422, 'a reason must have 1 to 200 characters', 'reason');
  elsif p_options ->> 'to_queue' <> p_queue then
    perform tock.check_queue(p_options ->> 'to_queue', 'to_queue', 422);
    perform tock.check_not_webhooks(p_options ->> 'to_queue', 'to_queue');
  end if;
  if p_request_id is not null then
    v_digest := pg_catalog.hashtextextended(
      pg_catalog.jsonb_build_array(p_change, p_filter, p_options)::text, 0);
    v_id := (tock.request_seen('start_bulk_change', p_queue, p_request_id, v_digest)).ids[1];
    if v_id is not null then
      return v_id;
    end if;
  end if;
  v_newest := (select s.last_value from tock.positions s);
  v_id := pg_catalog.nextval('tock.bulk_changes_id_seq');
  perform tock.write_audit_log('start_bulk_change', p_queue, pg_catalog.jsonb_build_object('id', v_id,
    'change', p_change, 'filter', p_filter, 'options', p_options));
  insert into tock.bulk_changes (id, change, queue, filter, options, role, key, cursor)
    overriding system value
    select v_id, p_change, p_queue, p_filter, p_options, a.role, a.key, case
      when v_dead then pg_catalog.lpad(pg_catalog.to_hex(v_newest + 1), 12, '0') || pg_catalog.lpad(
        pg_catalog.to_hex(tock.micros(pg_catalog.clock_timestamp())::bigint), 14, '0')
      when p_filter ->> 'state' is null
        then 'affffffffffff' || pg_catalog.lpad(pg_catalog.to_hex(v_newest), 12, '0')
      else pg_catalog.lpad(pg_catalog.to_hex(v_newest + 1), 12, '0') end
    from tock.audit_log a where a.number = (select pg_catalog.currval('tock.audit_log_numbers'));
  if p_request_id is not null then
    insert into tock.requests (verb, queue, request_id, digest, ids)
      values ('start_bulk_change', p_queue, p_request_id, v_digest, array[v_id])
      on conflict do nothing;  -- a conflict is possible only under an old snapshot, and raises 40001 there
  end if;
  return v_id;
end $$;

comment on function tock.start_bulk_change is
  'Starts a bulk change and returns its id: a cancel, reprioritize or redrive of all tasks of a queue that '
  'match a filter, which is that of cancel_where(), reprioritize_where() or redrive(). The options are '
  '{priority} of a reprioritize, and {to_queue, again, reason} of a redrive. The maintenance job '
  'run_bulk_changes does it page by page, and bulk_changes() shows how far it is. Leaves out tasks that are '
  'enqueued, or die, after this call. A repeated call with the same request_id returns the same id for 24 '
  'hours.';

-- While a page runs, the call waits until its transaction ends.
create or replace function tock.stop_bulk_change(p_id bigint)
returns text language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '10s' as $$
declare
  v_queue text;
begin
  update tock.bulk_changes b set state = 'stopped', ended_at = pg_catalog.clock_timestamp()
  where b.id = p_id and b.state = 'running'
  returning b.queue into v_queue;
  if found then
    perform tock.write_audit_log('stop_bulk_change', v_queue, pg_catalog.jsonb_build_object('id', p_id));
  end if;
  return (select b.state from tock.bulk_changes b where b.id = p_id);
end $$;

comment on function tock.stop_bulk_change is
  'Stops a bulk change before its next page; what it has changed stays. Returns its state after the call; '
  'null if there is no such change.';

create or replace function tock.bulk_changes(
  p_queue text default null, p_id bigint default null, p_before bigint default null,
  p_limit integer default 100)
returns table (id bigint, change text, queue text, filter jsonb, options jsonb, role text, key text,
  key_name text, created_at timestamptz, state text, matched bigint, changed bigint, error text,
  ended_at timestamptz) language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
  perform tock.check_range(p_limit, 1, 1000, 'limit');
  return query
    select b.id, b.change, b.queue::text, b.filter, b.options, b.role, b.key::text,
      (select k.name from tock.keys k where k.prefix = b.key), b.created_at, b.state, b.matched, b.changed,
      b.error, b.ended_at
    from tock.bulk_changes b
    where (p_queue is null or b.queue = p_queue) and (p_id is null or b.id = p_id)
      and (p_before is null or b.id < p_before)
    order by b.id desc limit p_limit;
end $$;

comment on function tock.bulk_changes is
  'Bulk changes of all queues or one, the newest first: who started each, how many tasks have matched and '
  'were changed so far, its state (running, done, stopped, failed) and the error of its last page. p_before '
  'is the last id of the previous page. Ended ones are kept for 30 days.';
