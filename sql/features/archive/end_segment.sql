-- History goes before its retention, so only while the archive is on; one epoch at a time, as each call uses
-- up a range of positions. The sequence jumps as in rotate(), under the same lock, from so far that no call
-- can overtake it, and by one more: an epoch is over when a position of the next is taken, and in a database
-- that is quiet nobody else may take one.
create or replace function tock.end_epoch()
returns table (epoch integer, settled_at timestamptz, why text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_epoch tock.epochs;
begin
  if not tock.is_archiving() then
    perform tock.refuse(409, 'the archive is off', null,
      'tock archive on first: an epoch that is ended on demand is dropped before its retention');
  elsif not tock.wait_for_lock(tock.named_key('duty', 'rotate')) then
    perform tock.refuse(503, 'another transaction makes or ends epochs', null, 'try again in a moment');
  end if;
  select e.* into v_epoch from tock.epochs e where e.early;
  if not found then
    update tock.epochs e set early = true
    where e.number = tock.newest_epoch() and exists (select from tock.epochs n where n.number > e.number)
    returning e.* into v_epoch;
    if not found then
      perform tock.refuse(503, 'no epoch lies ahead', null,
        'select tock.run_duty(''rotate''), then try again');
    end if;
    perform pg_catalog.setval('tock.positions', v_epoch.end_position) from tock.positions s
    where s.last_value between v_epoch.first_position + 1 and v_epoch.end_position - 1048576;
    if not found then
      perform tock.refuse(409,
        pg_catalog.format('epoch %s has only begun, or ends by itself soon', v_epoch.number), null,
        'enqueue something first; tock epochs shows how full it is');
    end if;
    perform tock.act('end_epoch', v_epoch.number::text);
  end if;
  return query select v_epoch.number, v_epoch.settled_at,
    case when v_epoch.settled_at is null then (select w.why from tock.why_unsettled(v_epoch) w) end;
end $$;

comment on function tock.end_epoch is
  'Ends the epoch in use, so that it goes to the archive and is dropped as soon as nothing in it is unread '
  'or running; while one that was so ended is still there, answers that one. TK409 while the archive is off.';
