-- Bulk changes that the maintenance job run_bulk_changes goes on with. cursor is where the next page begins;
-- the page stores it in its own transaction. It is set from the start on, and null once no page is left.
create table tock.bulk_changes (
  id bigint generated always as identity primary key,
  change text not null,
  queue text collate "C" not null,
  filter jsonb not null,
  options jsonb not null,
  role text not null,
  key text collate "C",
  created_at timestamptz not null default clock_timestamp(),
  cursor text,
  matched bigint not null default 0,
  changed bigint not null default 0,
  state text not null default 'running',
  due_at timestamptz not null default clock_timestamp(),  -- the time of the next page
  failures integer not null default 0,
  error text,
  ended_at timestamptz,
  constraint change_is_known check (change in ('cancel', 'reprioritize', 'redrive')),
  constraint bulk_change_state_is_known check (state in ('running', 'done', 'stopped', 'failed')),
  constraint bulk_change_ends_once check ((state = 'running') = (ended_at is null)),
  constraint bulk_change_without_cursor_is_done check ((cursor is null) = (state = 'done'))
);

create index bulk_changes_running on tock.bulk_changes (due_at) where state = 'running';
create index bulk_changes_by_queue on tock.bulk_changes (queue, id);

insert into tock.maintenance_jobs (name, every_seconds) values ('run_bulk_changes', 60);

-- The list of groups shows the newest of all queues first.
create index waiting_for_parents_by_position on tock.waiting (position)
  where due_after_parents is not null and lost >= 0;
