-- Whether history goes to object storage before it is dropped, and how the last step of that went. One row, once it was asked for.
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
  constraint prefix_is_a_plain_path check (prefix ~ '^[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){0,4}$' and prefix !~ '(^|/)\.\.?(/|$)')
);

-- An epoch on its way out, and after it has gone. stream and position say how far its parts have come;
-- replaced, how many of its runs had been replaced when it was begun.
create table tock.archives (
  epoch integer primary key,
  first_position bigint not null unique,
  end_position bigint not null,
  state text not null default 'exporting',
  stream integer not null default 0,
  position bigint not null default 0,
  parts integer not null default 0,
  rows bigint not null default 0,
  replaced bigint not null,
  started_at timestamptz not null default now(),
  verified_at timestamptz,
  dropped_at timestamptz,
  constraint archive_state_is_known check (state in ('exporting', 'verified', 'dropped')),
  constraint archive_is_a_range check (end_position > first_position)
);

create index archives_waiting on tock.archives (epoch) where state <> 'dropped';

-- A file holds the runs of one epoch after one (stream, position) up to another; digest is of its rows.
create table tock.archived_files (
  number bigint generated always as identity primary key,
  epoch integer not null,
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
  constraint part_once unique (epoch, part),
  constraint file_is_a_range unique (epoch, first_stream, first_position),
  constraint file_has_rows check (rows > 0 and bytes > 0)
);

create index archived_files_by_queue on tock.archived_files using gin (queues);

-- Which files hold runs of tasks whose ids don't say so: of those that started out waiting, and of those that began in
-- another epoch; by the epoch that the ids lie in (0: none that is known).
create table tock.archived_waits (
  task_epoch integer not null,
  file bigint not null references tock.archived_files (number) on delete cascade,
  first_position bigint not null,
  last_position bigint not null,
  primary key (task_epoch, file)
);

create index archived_waits_by_file on tock.archived_waits (file);

-- Objects that are no file of the archive: noted before they are put there, and taken away when nobody has made one of
-- them; for an hour they stay noted, as a put that was given up may still arrive. What a part's rows come to is said with it.
create table tock.archive_objects (
  path text collate "C" primary key,
  state text not null default 'writing',
  noted_at timestamptz not null default clock_timestamp(),
  epoch integer not null,
  part integer not null,
  rows integer,
  digest text,
  last_stream integer,
  last_position bigint,
  constraint object_state_is_known check (state in ('writing', 'unwanted', 'deleted'))
);

create index archive_objects_by_time on tock.archive_objects (noted_at);

-- Tasks that are to be nothing but states and times in the archive either; erased_at when no file holds more.
create table tock.archive_erasures (
  task_id bigint primary key,
  queue text not null,
  noted_at timestamptz not null default now(),
  erased_at timestamptz
);

create index archive_erasures_pending on tock.archive_erasures (noted_at) where erased_at is null;

-- What some of an epoch's runs come to: texts is a JSON array of arrays, waited the positions of tasks that started out
-- waiting or in another epoch.
create type tock.archive_rows as (
  count integer, digest text, texts text, last_stream integer, last_position bigint, first_created_at timestamptz,
  last_created_at timestamptz, queues text[], waited bigint[]);
