-- The segment in which a listing continues; null if none is left. Earlier pages have covered the segments
-- above p_below. A closed segment has no unfinished tasks, and its row says which queues have dead ones. The
-- row of a verified segment also says which queues have runs.
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
