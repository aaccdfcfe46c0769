-- What time must do, and how it last went: the health of the clockwork is what is in this table, not
-- what cron.job lists.
create table tock.duties (
  name text primary key,
  every_seconds integer not null,
  last_started_at timestamptz,
  last_ok_at timestamptz,
  last_seconds double precision,
  last_amount integer,
  last_error text,
  failures integer not null default 0
);

insert into tock.duties (name, every_seconds)
  values ('promote', 5), ('reap', 10), ('rest', 60), ('rotate', 60), ('tidy', 3600);
