-- Raises TK422 for an invalid pool, worker, task or lease_seconds.
create or replace function tock.check_member(
  p_pool text, p_worker text, p_task text, p_lease_seconds integer)
returns void language plpgsql immutable as $$
begin
  if p_pool is null or p_pool !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
    perform tock.refuse(422,
      'a pool name has 1 to 100 letters, digits and _ . : -, and starts with a letter or digit', 'pool');
  elsif not coalesce(pg_catalog.length(p_worker) between 1 and 200, false) then
    perform tock.refuse(422, 'worker must be a name of 1 to 200 characters', 'worker');
  elsif not coalesce(pg_catalog.length(p_task) between 1 and 200, false) then
    perform tock.refuse(422, 'task must be a name of 1 to 200 characters', 'task',
      'use its id, or a name such as leader:shard-7');
  elsif p_lease_seconds not between 1 and 86400 then
    perform tock.refuse(422, 'lease_seconds must be a whole number from 1 to 86400', 'lease_seconds');
  end if;
end $$;

-- The key of the advisory lock of a task or a worker in a pool. A call that adds a new worker to a pool must
-- take the lock of that worker. For other calls the lock only saves work, since the unique keys decide. A
-- call that waits here holds no row that another call may need.
create or replace function tock.pairing_key(p_pool text, p_side text, p_name text)
returns bigint language sql stable as $$
  select pg_catalog.hashtextextended(pg_catalog.concat_ws(' ', p_side, p_pool, p_name),
    'tock'::regnamespace::oid::bigint)
$$;

-- The row of a worker in a pool, expired or not.
create or replace function tock.member_of_worker(p_pool text, p_worker text)
returns tock.pool_members language plpgsql volatile as $$
declare
  v_member tock.pool_members;
begin
  select p.* into v_member from tock.pool_members p where p.pool = p_pool and p.worker = p_worker;
  return v_member;
end $$;

-- The row of a task in a pool, expired or not.
create or replace function tock.member_of_task(p_pool text, p_task text)
returns tock.pool_members language plpgsql volatile as $$
declare
  v_member tock.pool_members;
begin
  select p.* into v_member from tock.pool_members p where p.pool = p_pool and p.task = p_task;
  return v_member;
end $$;

-- Puts a free worker or a waiting task at the end of its list; false if it is in the pool already.
create or replace function tock.append_to_wait_list(
  p_pool text, p_worker text, p_task text, p_lease_seconds integer, p_until timestamptz)
returns boolean language plpgsql volatile as $$
declare
  v_number bigint := pg_catalog.nextval('tock.pool_member_numbers');
begin
  insert into tock.pool_members (number, pool, worker, task, joined, offered, turn, lease_seconds,
    leased_until, check_at)
    values (v_number, p_pool, p_worker, p_task, p_worker is not null, p_task is not null, v_number,
      coalesce(p_lease_seconds, 60), coalesce(p_until, 'infinity'), coalesce(p_until, 'infinity'))
    on conflict do nothing;
  return found;
end $$;

-- Assigns a task to a worker; all null if another call has paired one of them. The caller holds the row
-- locks, or the delete takes them. After the delete, the free worker and the waiting task are in no list, and
-- the two unique keys show whether another call has paired one of them. If so, both rows are restored. The
-- fencing token is drawn after all waits except one: an open transaction that has added the same task makes
-- the insert wait. If that transaction is rolled back, other calls may add, take and end the task before this
-- one wakes up. This call then has a lower fencing token than theirs.
create or replace function tock.pair(
  p_pool text, p_worker text, p_task text, p_free tock.pool_members, p_waiting tock.pool_members,
  p_lease_seconds integer)
returns tock.pool_members language plpgsql volatile as $$
declare
  v_seconds integer := coalesce(p_lease_seconds, p_free.lease_seconds, 60);
  v_until timestamptz := pg_catalog.clock_timestamp() + v_seconds * interval '1 second';
  v_pair tock.pool_members;
begin
  delete from tock.pool_members p where p.number = any (array[p_free.number, p_waiting.number]);
  insert into tock.pool_members (number, pool, worker, task, joined, offered, lease_seconds,
    leased_until, check_at)
    values (pg_catalog.nextval('tock.pool_member_numbers'), p_pool, p_worker, p_task,
      p_free.number is not null,
      coalesce(p_waiting.offered, false), v_seconds, v_until, v_until)
    on conflict do nothing
    returning * into v_pair;
  if v_pair.number is null then
    insert into tock.pool_members select o.* from unnest(array[p_free, p_waiting]) o
    where o.number is not null
      on conflict do nothing;
  end if;
  return v_pair;
end $$;

-- Ends an assignment; with p_vanished only if its worker is still past its deadline. The task waits again or
-- is gone; the worker is free again if it had joined and is alive.
create or replace function tock.end_assignment(
  p_member tock.pool_members, p_again boolean, p_vanished boolean)
returns boolean language plpgsql volatile as $$
begin
  -- the delete checks the deadline again: a heartbeat may have moved it
  delete from tock.pool_members p
  where p.number = p_member.number and (not p_vanished or p.leased_until <= pg_catalog.clock_timestamp());
  if not found then
    return false;
  end if;
  if p_again then
    perform tock.append_to_wait_list(p_member.pool, null, p_member.task, null, null);
  end if;
  if p_member.joined and p_member.leased_until > pg_catalog.clock_timestamp() then
    perform tock.append_to_wait_list(p_member.pool, p_member.worker, null, p_member.lease_seconds,
      p_member.leased_until);
  end if;
  return true;
end $$;
