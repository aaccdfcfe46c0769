-- Where no hot function is right (an epoch's edge, a restart), every stream goes the slow way.
create or replace function tock.candidates_anywhere(p_queue text, p_seed integer, p_seen integer[], p_limit integer)
returns tock.candidate[]
language plpgsql
volatile
as $$
begin
  return array(
    select row(s.number, s.priority, null)::tock.candidate
    from (
      select t.number, t.priority from tock.streams t
      where t.queue = p_queue and t.awake and t.number <> all (p_seen)
      order by t.priority, (t.lane & 512 <> 0) = (p_seed % 24 <> 0), pg_catalog.hashint4extended(t.lane, p_seed),
        pg_catalog.hashint4extended(t.slot, p_seed)
      offset 0) s
    where tock.first_unread(s.number, tock.cursor_of(s.number)) is not null
    limit p_limit);
end $$;

comment on function tock.candidates_anywhere is 'Streams to draw from, whichever epoch they are in.';

-- With the stream's lock held. Where its next run lies in a later epoch than its cursor, a skip lease
-- goes over the gap, up to just before that run. A claim that is alone moves start_after up as well: a
-- row lock kept until the end of somebody's transaction would hold up writers with old snapshots.
create or replace function tock.place_of(p_stream integer, p_alone boolean)
returns tock.place
language plpgsql
volatile
as $$
declare
  v_at tock.place;
  v_first bigint;
begin
  v_at.after_position := tock.cursor_of(p_stream);
  v_first := tock.first_unread(p_stream, v_at.after_position);
  if v_first is null then
    return null;
  end if;
  v_at.epoch := tock.epoch_of(v_first);
  if tock.epoch_of(v_at.after_position + 1) is distinct from v_at.epoch then
    perform tock.skip_to(p_stream, v_at.after_position, v_first - 1, 0);
    v_at.after_position := v_first - 1;
  end if;
  if p_alone then
    update tock.streams s set start_after = v_at.after_position
    where s.number = any (array(
      select t.number from tock.streams t
      where t.number = p_stream and t.awake and t.start_after < (
        select e.first_position - 1 from tock.epochs e where e.number = v_at.epoch)
      for update skip locked));
  end if;
  return v_at;
end $$;

comment on function tock.place_of is 'The epoch of a stream''s next run, and the cursor to claim it from; null when nothing is unread.';

create or replace function tock.draw(
  p_epoch integer, p_stream integer, p_after bigint, p_limit integer, p_token uuid, p_worker text,
  p_until timestamptz, p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint)
returns table (
  lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
  priority integer, tenant text, created_at timestamptz, payload jsonb)
language plpgsql
volatile
as $$
#variable_conflict use_column
begin
  if not tock.lease_asks(p_token) then
    return query execute pg_catalog.format('select * from tock.lease_range_%s($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
      p_epoch) using p_epoch, p_stream, p_after, p_limit, p_token, p_worker, p_until, p_bytes, p_one, p_max_attempts, p_priority;
    return;
  end if;
  return query select * from tock.draw_marked(p_epoch, p_stream, p_after, p_limit, p_token, p_worker, p_until, p_bytes,
    p_one, p_max_attempts, p_priority);
end $$;

comment on function tock.draw is 'Leases what lies above a stream''s cursor in an epoch and returns it, in order.';
