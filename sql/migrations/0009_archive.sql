-- The archive stores history in object storage before its segment is dropped. The Worker writes the files;
-- these tables list them and the tasks that they hold.

-- Whether history is archived, and the outcome of the last step: one row, after the archive was first turned
-- on or off.
create table tock.archive (
  single boolean primary key default true,
  enabled boolean not null default false,
  prefix text not null default 'tock',
  changed_at timestamptz not null default now(),
  last_step_at timestamptz,
  failed_at timestamptz,
  failures integer not null default 0,
  last_error text,
  constraint archive_is_one check (single),
  constraint prefix_is_a_plain_path check (
    prefix ~ '^[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){0,4}$' and prefix !~ '(^|/)\.\.?(/|$)')
);

-- A segment that is being archived, or was dropped afterwards. stream and position are the progress of its
-- parts.
create table tock.archives (
  segment integer primary key,
  first_position bigint not null unique,
  end_position bigint not null,
  state text not null default 'exporting',
  stream integer not null default 0,
  position bigint not null default 0,
  parts integer not null default 0,
  rows bigint not null default 0,
  started_at timestamptz not null default now(),
  verified_at timestamptz,
  dropped_at timestamptz,
  constraint archive_state_is_known check (state in ('exporting', 'verified', 'dropped')),
  constraint archive_is_a_range check (end_position > first_position)
);

create index archives_waiting on tock.archives (segment) where state <> 'dropped';

-- A file holds the runs of one segment from one (stream, position) to another. digest is the digest of its
-- rows.
create table tock.archived_files (
  number bigint generated always as identity primary key,
  segment integer not null,
  part integer not null,
  path text collate "C" not null unique,
  bytes bigint not null,
  sha256 text not null,
  digest text not null,
  rows integer not null,
  first_stream integer not null,
  first_position bigint not null,
  last_stream integer not null,
  last_position bigint not null,
  first_created_at timestamptz not null,
  last_created_at timestamptz not null,
  queues text[] not null,
  archived_at timestamptz not null default now(),
  constraint part_once unique (segment, part),
  constraint file_is_a_range unique (segment, first_stream, first_position),
  constraint file_has_rows check (rows > 0 and bytes > 0)
);

create index archived_files_by_queue on tock.archived_files using gin (queues);

-- The files that hold later runs of tasks: of tasks that were retried or that started as waiting. The Bloom
-- filter has the positions at which these tasks began, within a range; null stands for all positions of the
-- range.
create table tock.archived_tasks (
  file bigint not null references tock.archived_files (number) on delete cascade,
  first_position bigint not null,
  last_position bigint not null,
  filter bytea,
  primary key (file, first_position)
);

-- A filter does not compress. PostgreSQL has this in create table only from version 16 on.
alter table tock.archived_tasks alter column filter set storage external;

create index archived_tasks_by_position on tock.archived_tasks
  using gist (int8range(first_position, last_position, '[]'));

-- Objects in the store that are not files of the archive. A path is recorded before the upload, so that an
-- object which never became a file is found and deleted. A deleted one stays recorded for an hour, because an
-- upload that was given up may still arrive. The row has the count and digest of the part.
create table tock.archive_objects (
  path text collate "C" primary key,
  state text not null default 'writing',
  noted_at timestamptz not null default clock_timestamp(),
  segment integer not null,
  part integer not null,
  rows integer,
  digest text,
  last_stream integer,
  last_position bigint,
  constraint object_state_is_known check (state in ('writing', 'unwanted', 'deleted'))
);

create index archive_objects_by_time on tock.archive_objects (noted_at);

-- Tasks to erase from the archive too; erased_at is set when no file holds their data any more. tried_at
-- orders them, and file is the last file that was searched.
create table tock.archive_erasures (
  task_id bigint primary key,
  queue text not null,
  noted_at timestamptz not null default now(),
  erased_at timestamptz,
  tried_at timestamptz,
  file bigint not null default 0
);

create index archive_erasures_pending on tock.archive_erasures (tried_at nulls first, task_id)
  where erased_at is null;

-- Some runs of a segment: texts is a JSON array of arrays; begun has the positions where their tasks began,
-- if that is another run.
create type tock.archive_rows as (
  count integer, digest text, texts text, last_stream integer, last_position bigint,
  first_created_at timestamptz, last_created_at timestamptz, queues text[], begun bigint[]);
