-- The policy of a queue: its own row, or the default row '*'. plpgsql keeps the plan for the session.
-- PostgreSQL would plan an SQL function again at each call.
create or replace function tock.policy(p_queue text)
returns tock.queues language plpgsql stable as $$
declare
  v_policy tock.queues;
begin
  select q.* into v_policy from tock.queues q where q.name = p_queue;
  if not found then
    select q.* into v_policy from tock.queues q where q.name = '*';
  end if;
  return v_policy;
end $$;

-- Raises TK422 for an invalid queue name.
create or replace function tock.check_queue_name(p_queue text)
returns void language plpgsql immutable as $$
begin
  if p_queue is null or p_queue !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
    perform tock.refuse(422,
      'a queue name has 1 to 100 letters, digits and _ . : -, and starts with a letter or digit',
      'queue');
  end if;
end $$;

-- check_queue_name() for a call that needs the queue on this node: TK421, or p_status, if another node has
-- it. The directory is asked only for a queue that does not exist here.
create or replace function tock.check_queue(
  p_queue text, p_field text default 'queue', p_status integer default 421)
returns void language plpgsql stable as $$
begin
  perform tock.check_queue_name(p_queue);
  if pg_catalog.to_regnamespace('tock_nodes') is not null then
    perform tock.on_not_found(p_queue, 'queue ' || p_queue, p_field, p_status)
    where not exists (select from tock.queues q where q.name = p_queue);
  end if;
end $$;

-- Makes a queue at its first use, with the default policy. This function never waits. While another open
-- transaction makes the same queue, the call uses the policy of *.
create or replace function tock.make_queue(p_queue text)
returns void language plpgsql volatile as $$
begin
  perform tock.check_queue(p_queue);
  if (select count(*) from tock.queues) > 10000 then
    perform tock.refuse(422, 'there are already 10,000 queues, so a new name makes no further one', 'queue',
      'use tenants and priorities in one queue');
  end if;
  if pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), tock.named_key('queue', p_queue)) then
    insert into tock.queues
    select n.* from tock.queues q
    cross join lateral pg_catalog.jsonb_populate_record(q, pg_catalog.jsonb_build_object(
      'name', p_queue, 'paused', false, 'created_at', pg_catalog.now(), 'heavy', '{}'::jsonb)) n
    where q.name = '*'
    on conflict do nothing;
  end if;
exception
  when serialization_failure then null;  -- another session made it after this snapshot was taken
end $$;

-- The lane of a tenant: one of the lanes of the queue, chosen by hash. It is 64 higher for each such lane
-- that another tenant fills, and 512 higher for a tenant with 1,000 or more tasks in one call.
create or replace function tock.lane_of(p_policy tock.queues, p_tenant text, p_bulk text[])
returns smallint language plpgsql immutable as $$
declare
  v_lane integer := (pg_catalog.hashtext(p_tenant) & 2147483647) % p_policy.lanes;
begin
  if p_tenant = any (p_bulk) then
    return v_lane + 512;
  end if;
  while v_lane < 448 and p_policy.heavy ->> v_lane::text <> p_tenant loop
    v_lane := v_lane + 64;
  end loop;
  return v_lane;
end $$;

-- True if claims from a queue return nothing: it is paused, or waits to be resumed after a restore.
create or replace function tock.is_paused(p_policy tock.queues)
returns boolean language sql volatile as $$
  select p_policy.paused or (p_policy.pause_after_restore
    and p_policy.home is distinct from (select i.last_value from tock.system_identity i))
$$;

-- The lane of a tenant's task in a queue; tasks with options have lanes from 1,024 on.
create or replace function tock.lane_in(p_queue text, p_tenant text, p_options jsonb)
returns smallint language plpgsql stable as $$
begin
  return case when p_tenant is null then 0 else tock.lane_of(tock.policy(p_queue), p_tenant, '{}') end
    + case when p_options is null then 0 else 1024 end;
end $$;

-- Raises TK422 for the queue whose requests Tock signs as its own. Tock signs the requests of this queue as
-- its own, so callers cannot enqueue into it.
create or replace function tock.check_not_webhooks(p_queue text, p_field text)
returns void language plpgsql immutable as $$
begin
  if p_queue = 'tock-webhooks' then
    perform tock.refuse(422, 'the queue tock-webhooks is reserved for Tock''s own tasks', p_field,
      'use another queue with its own push URL');
  end if;
end $$;
