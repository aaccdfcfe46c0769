-- Which files hold runs of tasks that began elsewhere than with that run: of those that were retried, and of those that
-- started out waiting. A filter over the positions where they began, within a range; null is any in it.
create table tock.archived_tasks (
  file bigint not null references tock.archived_files (number) on delete cascade,
  first_position bigint not null,
  last_position bigint not null,
  filter bytea,
  primary key (file, first_position)
);
alter table tock.archived_tasks alter column filter set storage external;

create index archived_tasks_by_position on tock.archived_tasks using gist (int8range(first_position, last_position, '[]'));

-- Of files that are there already it was not noted which tasks were retried in the epoch in which they began.
insert into tock.archived_tasks (file, first_position, last_position)
  select t.file, t.first_position, max(t.last_position)
  from (
    select w.file, w.first_position, w.last_position from tock.archived_waits w
    union all select f.number, a.first_position, a.end_position - 1
    from tock.archived_files f join tock.archives a on a.epoch = f.epoch) t
  group by t.file, t.first_position;
drop table tock.archived_waits;

alter type tock.archive_rows rename attribute waited to begun;

-- Whose turn it is, and how far in its files it has come: by the files' numbers.
alter table tock.archive_erasures add column tried_at timestamptz, add column file bigint not null default 0;
drop index tock.archive_erasures_pending;
create index archive_erasures_pending on tock.archive_erasures (tried_at nulls first, task_id) where erased_at is null;
