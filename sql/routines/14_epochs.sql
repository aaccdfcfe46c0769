-- The position after the last one of an epoch that was dropped belongs to no epoch: null, as for
-- whatever lies beyond the newest.
create or replace function tock.epoch_of(p_position bigint)
returns integer
language plpgsql
stable
as $$
begin
  return (
    select n.number from (
      select e.number, e.end_position from tock.epochs e
      where e.first_position <= p_position order by e.first_position desc limit 1) n
    where p_position < n.end_position);
end $$;

comment on function tock.epoch_of is 'The number of the epoch that a position lies in; null when there is none, or no more.';

create or replace function tock.newest_epoch()
returns integer
language plpgsql
stable
as $$
begin
  return coalesce(tock.epoch_of((select s.last_value from tock.positions s)),
    (select e.number from tock.epochs e order by e.number desc limit 1));
end $$;

comment on function tock.newest_epoch is 'The epoch that the sequence is in, or the last there is when it has run out of them. Runs of a later one may be there by the time this is used: within a stream, what is read without them is a prefix.';

create or replace function tock.lease_epoch(p_lease uuid)
returns integer
language plpgsql
stable
as $$
begin
  return (
    select e.number from tock.epochs e
    where e.number = ('x' || pg_catalog.right(p_lease::text, 7))::bit(28)::integer);
end $$;

comment on function tock.lease_epoch is
  'The epoch that a lease and its runs lie in, from the token''s last 28 bits; null when it can''t be a lease.';

create or replace function tock.unsettled_epochs()
returns integer[]
language plpgsql
stable
as $$
begin
  return array(
    select e.number from tock.epochs e
    where e.settled_at is null and e.first_position <= (select s.last_value from tock.positions s)
    order by e.number);
end $$;

comment on function tock.unsettled_epochs is 'The epochs in which something is still unread or running, oldest first.';

-- Partitions are made as plain tables and then attached: that takes about 1 ms and waits for no reader. A
-- lease lies with its runs, and starts after the position before the first.
create or replace function tock.make_epoch(p_first bigint, p_end bigint)
returns void
language plpgsql
volatile
as $$
declare
  v_number integer := (select max(e.number) + 1 from tock.epochs e);
  v_leaf record;
begin
  if pg_catalog.to_regclass('tock.runs_' || v_number) is not null then
    raise exception using errcode = '40001', message = 'an epoch was made that the snapshot of this transaction does not show';
  end if;
  for v_leaf in
    select t.name, p_first - t.less as first, p_end - t.less as last, t.fillfactor
    from (values ('runs', 0, 100), ('results', 0, 100), ('marks', 0, 100), ('leases', 1, 70)) t (name, less, fillfactor)
  loop
    execute pg_catalog.format(
      'create table tock.%1$s_%2$s (like tock.%1$s including all) with (fillfactor = %3$s)',
      v_leaf.name, v_number, v_leaf.fillfactor);
    execute pg_catalog.format('alter table tock.%1$s attach partition tock.%1$s_%2$s for values from (%3$s) to (%4$s)',
      v_leaf.name, v_number, v_leaf.first, v_leaf.last);
    -- whatever an operator's default privileges say
    execute pg_catalog.format(
      'revoke all on tock.%s_%s from public, tock_producer, tock_worker, tock_admin, tock_edge', v_leaf.name, v_number);
  end loop;
  insert into tock.epochs (number, first_position, end_position) values (v_number, p_first, p_end);
end $$;

comment on function tock.make_epoch is 'Makes the epoch after the newest: one leaf each of runs, leases, results and marks.';

-- One transaction at a time makes epochs: each takes the lock of the duty rotate first, and looks again in a new
-- snapshot. That lock is waited for 50 ms, as an epoch takes a few; anything else that is in the way 2 s.
create or replace function tock.make_epochs_to(p_position bigint)
returns void
language plpgsql
volatile
set lock_timeout = '2s'
as $$
declare
  v_newest tock.epochs;
begin
  if not tock.wait_for_lock(tock.named_key('duty', 'rotate')) then
    perform tock.refuse(503, 'the last epoch is nearly used up, and another transaction makes the next', null, 'try again in a moment');
  end if;
  loop
    select e.* into v_newest from tock.epochs e order by e.number desc limit 1;
    exit when v_newest.end_position > p_position;
    perform tock.make_epoch(v_newest.end_position,
      v_newest.end_position + greatest(v_newest.end_position - v_newest.first_position, 1048576));
  end loop;
exception
  when lock_not_available then
    perform tock.refuse(503, 'the last epoch is nearly used up, and a lock on tock.runs, leases, results or marks is in the way of the next', null,
      'try again; pg_locks names who locks these tables');
end $$;

comment on function tock.make_epochs_to is 'Makes epochs until there is one for a position; TK503 while another transaction does.';

-- When the last one was made within the hour the next is twice as wide. An epoch that has been in use
-- for an eighth of the longest retention, a day at least, is ended by a jump of the sequence, as
-- history goes by whole epochs: only ever forwards, and from so far that no call can overtake it.
create or replace function tock.rotate(p_ahead integer default 2, p_width bigint default null)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '50ms'
as $$
declare
  v_newest tock.epochs;
  v_current tock.epochs;
  v_reached bigint;
  v_age interval := greatest(interval '1 day', (select max(q.retention_seconds) from tock.queues q) / 8 * interval '1 second');
  v_made integer := 0;
begin
  if p_ahead not between 0 and 1000 then
    perform tock.refuse(422, 'p_ahead is a whole number from 0 to 1000', 'p_ahead');
  elsif p_width < 1 then
    perform tock.refuse(422, 'p_width is a positive number', 'p_width');
  end if;
  if not tock.wait_for_lock(tock.named_key('duty', 'rotate')) then
    return 0;
  end if;
  loop
    select e.* into v_newest from tock.epochs e order by e.number desc limit 1;
    v_reached := (select s.last_value from tock.positions s);
    select e.* into v_current from tock.epochs e where e.number = tock.newest_epoch();
    -- each is four tables with their indexes: thousands at once are more locks than a cluster has
    exit when v_reached < v_newest.end_position
      and (v_made = 100 or v_newest.number - v_current.number >= coalesce(p_ahead, 2));
    perform tock.make_epoch(v_newest.end_position, v_newest.end_position + coalesce(least(p_width, 1073741824), least(1073741824,
      (v_newest.end_position - v_newest.first_position)
        * case when v_newest.number > 3 and v_newest.made_at > pg_catalog.now() - interval '1 hour' then 2 else 1 end)));
    v_made := v_made + 1;
  end loop;
  update tock.epochs e set started_at = pg_catalog.now() where e.number = v_current.number and e.started_at is null;
  if v_current.started_at < pg_catalog.now() - v_age then
    -- looked at again in the statement that jumps
    perform pg_catalog.setval('tock.positions', v_current.end_position - 1) from tock.positions s
    where s.last_value between v_current.first_position + 1 and v_current.end_position - 1048576;
  end if;
  if tock.hot_epoch() is null then
    perform tock.write_hot();
    -- streams that nobody goes on with are looked at by every claim until they are put to sleep
    update tock.duties d set last_started_at = null
    where d.name = (select r.name from tock.duties r where r.name = 'rest' for update skip locked);
  end if;
  perform tock.move_up();
  perform tock.settle();
  return v_made;
end $$;

comment on function tock.rotate is
  'Makes epochs until p_ahead lie ahead of the one in use (p_width positions each), up to 100 a call, ends the one in use when it is old, and settles those that are over; returns how many it made, 0 while another transaction does so.';

-- A transaction that was writing when the epoch ended may still commit runs in it: it holds a slot
-- until then (a prepared one is shown as -1/xid). What they left is looked at after that: an older
-- snapshot doesn't show it.
create or replace function tock.settle()
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_reached bigint := (select s.last_value from tock.positions s);
  v_writers text[] := tock.writers();
  v_epoch tock.epochs;
  v_busy boolean;
  v_settled integer := 0;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    return 0;
  end if;
  update tock.epochs e set writers_at_end = v_writers
  where e.writers_at_end is null and e.end_position <= v_reached;
  for v_epoch in
    select e.* from tock.epochs e
    where e.settled_at is null and e.writers_at_end is not null and not e.writers_at_end && v_writers
      and not exists (select from unnest(v_writers) w where w like '-1/%')
    order by pg_catalog.random() limit 64
  loop
    execute pg_catalog.format($q$
      select exists (
        select from tock.streams s
        where s.awake and s.start_after < $1 - 1 and (s.start_after >= $2 - 1
          or (select r.position from tock.runs_%1$s r where r.stream = s.number limit 1) is not null
          or (select l.last_position from tock.leases_%1$s l where l.stream = s.number limit 1) is not null))
      or exists (select from tock.leases_%1$s l where l.closed_at is null)$q$, v_epoch.number)
      into v_busy using v_epoch.end_position, v_epoch.first_position;
    continue when v_busy;
    update tock.epochs e set settled_at = pg_catalog.now(), dead = tock.dead_in(e.number) where e.number = v_epoch.number;
    v_settled := v_settled + 1;
  end loop;
  return v_settled;
end $$;

comment on function tock.settle is
  'Marks epochs as settled that have ended, whose writers are gone, and in which nothing is unread or running; returns how many.';

create or replace function tock.writers()
returns text[]
language sql
stable
as $$
  select array(
    select distinct l.virtualtransaction from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.classid = 'tock'::regnamespace and l.granted
      and l.objid::bigint between 1073741824 and 1073745919
      and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
      and l.pid is distinct from pg_catalog.pg_backend_pid())
$$;

comment on function tock.writers is 'The virtual ids of other transactions that hold a writer slot.';

create or replace function tock.dead_in(p_epoch integer)
returns jsonb
language plpgsql
stable
as $$
declare
  v_dead jsonb;
begin
  execute pg_catalog.format($q$
    select coalesce(pg_catalog.jsonb_object_agg(d.queue, d.tasks), '{}') from (
      select s.queue, count(*) as tasks from tock.results_%s e join tock.streams s on s.number = e.stream
      where e.next_id is null and e.state in ('failed', 'lost') group by s.queue) d$q$, p_epoch) into v_dead;
  return v_dead;
end $$;

comment on function tock.dead_in is 'How many tasks died in an epoch, by queue.';
