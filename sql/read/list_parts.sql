-- The streams that may have runs in a segment or later: of one queue at most 20,000, of all queues 2,000, the
-- latest first.
create or replace function tock.listed_streams(p_queue text, p_first bigint)
returns integer[] language plpgsql volatile as $$
begin
  if p_queue is not null then
    return array(
      select s.number from tock.streams s
      where s.queue = p_queue and (s.awake or s.start_after >= p_first - 1)
      order by s.awake desc, s.start_after desc limit 20000);
  end if;
  return array(
    select s.number from tock.streams s where s.awake or s.start_after >= p_first - 1
    order by s.awake desc, s.start_after desc limit 2000);
end $$;

comment on function tock.listed_streams is 'The streams that a listing scans.';

-- Earlier pages have covered the segments above p_below. A closed segment has no unfinished tasks, and its
-- row says which queues have dead ones. The row of a verified segment also says which queues have runs.
create or replace function tock.listed_segment(p_filter jsonb, p_below bigint)
returns tock.segments language sql volatile as $$
  select e.* from tock.segments e
  where e.first_position < p_below and e.first_position <= (select p.last_value from tock.positions p)
    and coalesce(p_filter ->> 'state' <> 'waiting', true)
    and (e.closed_at is null or coalesce(p_filter ->> 'state' not in ('ready', 'running'), true)
      and coalesce(p_filter ->> 'state' <> 'dead' or e.dead ? (p_filter ->> 'queue'), true)
      and (e.verified_at is null or coalesce(p_filter ->> 'queue' = any (e.queues), true)))
  order by e.first_position desc limit 1
$$;

comment on function tock.listed_segment is 'The segment in which a listing continues; null if none is left.';
