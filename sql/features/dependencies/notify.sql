-- Checks the parents of children. Also deletes the waits of children that no longer wait.
create or replace function tock.recheck_parents(p_children bigint[])
returns void language plpgsql volatile as $$
begin
  if p_children = '{}' then
    return;
  end if;
  perform tock.check_parents(tock.lock_dependents(p_children));
  delete from tock.dependency_waits x
  using (
    select y.ctid from tock.dependency_waits y
    where y.child = any (p_children) and (select w.position from tock.waiting w
      where w.position = y.child) is null
    for update skip locked) y
  where x.ctid = y.ctid;
end $$;

-- Checks the parents of the children of these runs and waiting tasks, which have ended or continued.
create or replace function tock.notify_dependents(p_ids bigint[])
returns void language plpgsql volatile as $$
begin
  if not tock.sees_all() then
    insert into tock.dependency_rechecks (stream, after_position, upto)
    select tock.stream_of(i), tock.position_of(i) - 1, tock.position_of(i) from unnest(p_ids) i;
    return;
  end if;
  perform tock.recheck_parents(array(
    select distinct x.child
    from unnest(p_ids) i
    cross join lateral (
      select x.child from tock.dependency_waits x where x.stream = tock.stream_of(i)
        and x.position = tock.position_of(i) offset 0) x));
end $$;

-- Schedules a recheck for the children of skipped runs of a stream, up to 10,000. The caller may hold the
-- lock of a stream or of concurrency keys, so this function only schedules the check.
create or replace function tock.notify_dependents_of_skipped(p_stream integer, p_after bigint, p_upto bigint)
returns void language plpgsql volatile as $$
declare
  v_children bigint[] := array(
    select x.child from tock.dependency_waits x where x.stream = p_stream and x.position > p_after
      and x.position <= p_upto
    order by x.stream, x.position limit 10000);
begin
  if not tock.sees_all() then
    insert into tock.dependency_rechecks (stream, after_position, upto) values (p_stream, p_after, p_upto);
  elsif v_children <> '{}' then
    perform tock.schedule_recheck(v_children);
  end if;
end $$;

-- notify_dependents() for all runs of a lease.
create or replace function tock.notify_dependents_of_lease(p_lease uuid, p_segment integer)
returns void language plpgsql volatile as $$
declare
  v_children bigint[];
begin
  if not tock.sees_all() then
    execute pg_catalog.format(
      'insert into tock.dependency_rechecks (stream, after_position, upto) '
      'select l.stream, l.after_position, l.last_position from tock.lease_rows_%s($1) l', p_segment)
    using p_lease;
    return;
  end if;
  execute pg_catalog.format($q$
    select array(
      select distinct x.child from tock.lease_rows_%s($1) l
      cross join lateral (
        select x.child from tock.dependency_waits x
        where x.stream = l.stream and x.position > l.after_position and x.position <= l.last_position
        offset 0) x)$q$, p_segment)
    into v_children using p_lease;
  perform tock.recheck_parents(v_children);
end $$;
