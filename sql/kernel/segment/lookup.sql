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

comment on function tock.epoch_of is
  'The number of the epoch that a position lies in; null when there is none, or no more.';

create or replace function tock.newest_epoch()
returns integer
language plpgsql
stable
as $$
begin
  return coalesce(tock.epoch_of((select s.last_value from tock.positions s)),
    (select e.number from tock.epochs e order by e.number desc limit 1));
end $$;

comment on function tock.newest_epoch is
  'The epoch that the sequence is in, or the last there is when it has run out of them. Runs of a later one '
  'may be there by the time this is used: within a stream, what is read without them is a prefix.';

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
  'The epoch that a lease and its runs lie in, from the token''s last 28 bits; null '
  'when it can''t be a lease.';

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

comment on function tock.unsettled_epochs is
  'The epochs in which something is still unread or running, oldest first.';

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
