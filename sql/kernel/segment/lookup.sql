-- The number of the segment of a position; null if there is none, or not any more. Null for positions beyond
-- the newest segment, and for those of dropped segments.
create or replace function tock.segment_of(p_position bigint)
returns integer language plpgsql stable as $$
begin
  return (
    select n.number from (
      select e.number, e.end_position from tock.segments e
      where e.first_position <= p_position order by e.first_position desc limit 1) n
    where p_position < n.end_position);
end $$;

-- The position after the last that this database may use: found_range() sets the bound of the sequence.
create or replace function tock.end_of_range()
returns bigint language sql stable as $$
  select q.seqmax + 1 from pg_catalog.pg_sequence q where q.seqrelid = 'tock.positions'::regclass
$$;

-- The segment of the sequence, or the last segment if the sequence has passed it. Runs of a later segment may
-- be added before the caller uses the number. Without them the caller still sees a prefix of each stream.
create or replace function tock.newest_segment()
returns integer language plpgsql stable as $$
begin
  return coalesce(tock.segment_of((select s.last_value from tock.positions s)),
    (select e.number from tock.segments e order by e.number desc limit 1));
end $$;

-- The segment of a lease and its runs, from its token; null if there is no such segment. TK421 for a lease of
-- another node.
create or replace function tock.lease_segment(p_lease uuid)
returns integer language plpgsql stable as $$
declare
  v_segment integer := (select e.number from tock.segments e where e.number = tock.token_segment(p_lease));
begin
  if v_segment is null then
    perform tock.on_not_found(':' || (tock.token_segment(p_lease) >> 18), 'this lease', 'lease');
  end if;
  return v_segment;
end $$;

-- The segments that have begun and are not closed, oldest first: they have all unclaimed and running runs.
create or replace function tock.open_segments()
returns integer[] language plpgsql stable as $$
begin
  return array(
    select e.number from tock.segments e
    where e.closed_at is null and e.first_position <= (select s.last_value from tock.positions s)
    order by e.number);
end $$;

-- The number of dead tasks in a segment, by queue.
create or replace function tock.dead_in_segment(p_segment integer)
returns jsonb language plpgsql stable as $$
declare
  v_dead jsonb;
begin
  execute pg_catalog.format($q$
    select coalesce(pg_catalog.jsonb_object_agg(d.queue, d.tasks), '{}') from (
      select s.queue, count(*) as tasks from tock.results_%s e join tock.streams s on s.number = e.stream
      where e.next_id is null and e.state in ('failed', 'lost') group by s.queue) d$q$, p_segment)
    into v_dead;
  return v_dead;
end $$;
