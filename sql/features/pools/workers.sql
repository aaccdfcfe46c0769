-- A place that somebody is pairing at this moment is answered as it was, and its end isn't moved.
create or replace function tock.join_pool(
  p_pool text, p_worker text, p_lease_seconds integer default null, p_fence bigint default null)
returns table (state text, task text, fence bigint, leased_until timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_place tock.places;
  v_alone boolean := false;
  v_until timestamptz;
begin
  perform tock.check_place(p_pool, p_worker, '-', p_lease_seconds);
  for v_try in 1 .. 5 loop
    v_place := tock.place_of_worker(p_pool, p_worker);
    if p_fence is not null
      and (v_place.task is null or v_place.number <> p_fence
        or v_place.leased_until <= pg_catalog.clock_timestamp())
    then
      return query select 'lost', null::text, null::bigint, null::timestamptz;
      return;
    elsif v_place.number is null and not v_alone then
      perform tock.one_at_a_time(p_pool, 'worker', p_worker);
      v_alone := true;
    elsif v_place.number is null then
      v_until := pg_catalog.clock_timestamp() + coalesce(p_lease_seconds, 60) * interval '1 second';
      if tock.line_up(p_pool, p_worker, null, p_lease_seconds, v_until) then
        return query select 'free', null::text, null::bigint, v_until;
        return;
      end if;
    elsif v_place.task is not null and v_place.leased_until <= pg_catalog.clock_timestamp() then
      perform tock.part(v_place, v_place.offered, true);
    elsif v_place.leased_until <= pg_catalog.clock_timestamp() then
      -- free, or being taken out: that is waited for
      perform from tock.places p where p.number = v_place.number for update;
      continue when not found;
      v_until := tock.beat(v_place, p_lease_seconds, true);
      return query select 'free', null::text, null::bigint, v_until;
      return;
    else
      v_until := tock.beat(v_place, p_lease_seconds, p_fence is null);
      if v_until is not null then
        return query select case when v_place.task is null then 'free' else 'held' end, v_place.task,
          case when v_place.task is not null then v_place.number end, v_until;
        return;
      end if;
    end if;
  end loop;
  perform tock.refuse(503, 'others are changing where this worker is', null, 'try again');
end $$;

comment on function tock.join_pool is
  'Makes a worker free in a pool, or is its heartbeat: moves its end to p_lease_seconds (60) from now, and '
  'says which task it holds. With p_fence it is a heartbeat for that holding alone: state lost, and nothing '
  'else is done, when that is over.';

create or replace function tock.beat(p_place tock.places, p_lease_seconds integer, p_joined boolean)
returns timestamptz
language plpgsql
volatile
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_seconds integer := coalesce(p_lease_seconds, p_place.lease_seconds);
  v_held tock.places;
begin
  select p.* into v_held from tock.places p where p.number = p_place.number for update skip locked;
  if not found then
    return (select p.leased_until from tock.places p where p.number = p_place.number);
  elsif v_held.task is not null and v_held.leased_until <= v_now then
    return null;
  end if;
  update tock.places p
  set leased_until = v_now + v_seconds * interval '1 second', lease_seconds = v_seconds,
    joined = p.joined or p_joined,
    -- an earlier end than the one that is looked at would be found late; and who beats in time is never
    -- looked at, as the duty holds whom it looks at until its tick is over
    look_at = case when p.look_at < v_now + v_seconds * interval '0.5 second'
      then v_now + v_seconds * interval '1 second'
      else least(p.look_at, v_now + v_seconds * interval '1 second') end
  where p.number = p_place.number;
  return v_now + v_seconds * interval '1 second';
end $$;

comment on function tock.beat is
  'Moves a worker''s end, or gives the one it has while somebody else holds its row; null '
  'when its place is over or gone.';

create or replace function tock.leave_pool(p_pool text, p_worker text)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '2s'
as $$
declare
  v_place tock.places;
begin
  perform tock.check_place(p_pool, p_worker, '-', null);
  for v_try in 1 .. 10 loop
    v_place := tock.place_of_worker(p_pool, p_worker);
    if v_place.number is null then
      return false;
    end if;
    -- waits for who is pairing it, and then looks again
    delete from tock.places p where p.number = v_place.number;
    if found then
      if v_place.offered then
        perform tock.line_up(p_pool, null, v_place.task, null, null);
      end if;
      return true;
    end if;
  end loop;
  perform tock.refuse(503, 'others are changing where this worker is', null, 'try again');
end $$;

comment on function tock.leave_pool is
  'Takes a worker out of a pool, with what it holds: an offered task waits again, another is over. False '
  'when it isn''t there.';
