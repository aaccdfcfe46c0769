-- The statements that end runs, as 45_hot.sql holds those of claims: for the epoch in use. What they say of a
-- lease, or a mark, is right for its epoch whatever the sequence has come to, so all that each looks at is
-- whether it is for the epoch that is meant: null when it isn't, and then they are planned at each call. The
-- lock is write_hot()'s own, taken before any of its functions: a deploy and a rotation may meet.
create or replace function tock.write_hot_ends(p_epoch integer, p_first bigint, p_end bigint)
returns void
language plpgsql
volatile
as $$
declare
  v_text text[] := array[tock.hold_statement(p_epoch, false), tock.runs_statement(p_epoch, 'lease'),
    tock.runs_statement(p_epoch, 'run'), tock.runs_statement(p_epoch, 'task'), tock.close_ended_statement(p_epoch, false),
    tock.hold_statement(p_epoch, true), tock.close_ended_statement(p_epoch, true)];
  v_wishes text := pg_catalog.replace(tock.wishes_statement(p_epoch), '$1', 'p_ids');
  v_end text[] := array[tock.again_statement(p_epoch, p_first), tock.end_statement(p_epoch, false), tock.end_statement(p_epoch, true)];
begin
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('duty', 'hot'));
  for v_n in 1 .. 7 loop
    v_text[v_n] := pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(v_text[v_n],
      '$1', 'p_lease'), '$2', 'p_ids'), '$3', 'v_found');
  end loop;
  for v_n in 1 .. 3 loop
    v_end[v_n] := pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(v_end[v_n],
      '$1', 'p_ended'), '$2', 'p_again'), '$3', 'p_streams');
  end loop;
  execute pg_catalog.format($q$
    create or replace function tock.hold_runs_hot(p_lease uuid, p_epoch integer, p_ids bigint[])
    returns tock.leased_run[] language plpgsql volatile as $f$
    declare
      v_runs tock.leased_run[];
      v_found bigint[];
    begin
      if p_epoch <> %1$s then
        return null;
      elsif (case when tock.is_of_one(p_lease) then (%13$s) else (%2$s) end) = 0 then
        return '{}';
      elsif p_ids is null then
        return (%3$s);
      end if;
      v_runs := (%4$s);
      if pg_catalog.cardinality(v_runs) < pg_catalog.cardinality(p_ids) then
        v_found := array(select r.n from unnest(v_runs) r);
        v_runs := v_runs || (%5$s);
      end if;
      return v_runs;
    end $f$;

    create or replace function tock.close_ended_hot(p_lease uuid, p_epoch integer)
    returns boolean language plpgsql volatile as $f$
    begin
      if p_epoch <> %1$s then
        return null;
      elsif tock.is_of_one(p_lease) then
        %14$s;
      else
        %6$s;
      end if;
      return true;
    end $f$;

    create or replace function tock.wishes_hot(p_ids bigint[])
    returns tock.wish[] language plpgsql volatile as $f$
    begin
      return (
        select case when min(i >> 20) >= %7$s and max(i >> 20) < %8$s then (%9$s) end from unnest(p_ids) i);
    end $f$;

    create or replace function tock.again_hot(p_epoch integer, p_ended tock.ending[])
    returns tock.going[] language plpgsql volatile as $f$
    begin
      if p_epoch <> %1$s then
        return null;
      end if;
      return (%10$s);
    end $f$;

    create or replace function tock.ended_hot(p_epoch integer, p_ended tock.ending[], p_again tock.going[],
      p_streams integer[])
    returns integer language plpgsql volatile as $f$
    declare
      v_count integer;
    begin
      if p_epoch <> %1$s then
        return null;
      elsif p_again is null then
        %11$s into v_count;
      else
        %12$s into v_count;
      end if;
      return v_count;
    end $f$;

    revoke all on function tock.hold_runs_hot(uuid, integer, bigint[]), tock.close_ended_hot(uuid, integer),
      tock.wishes_hot(bigint[]), tock.again_hot(integer, tock.ending[]),
      tock.ended_hot(integer, tock.ending[], tock.going[], integer[])
      from public, tock_producer, tock_worker, tock_admin, tock_edge;$q$,
    p_epoch, v_text[1], v_text[2], v_text[3], v_text[4], v_text[5], p_first, p_end, v_wishes, v_end[1], v_end[2], v_end[3],
    v_text[6], v_text[7]);
end $$;

comment on function tock.write_hot_ends is
  'Writes hold_runs_hot(), close_ended_hot(), wishes_hot(), again_hot() and ended_hot() for an epoch and its bounds. Called by write_hot().';
