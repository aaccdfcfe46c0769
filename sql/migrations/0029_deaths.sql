-- An endpoint is told when tasks of a queue die: {url}, or null.
alter table tock.queues
  add column dead_webhook jsonb,
  add constraint dead_webhook_is_an_object check (pg_catalog.jsonb_typeof(dead_webhook) = 'object');

create index queues_with_dead_webhook on tock.queues (name) where dead_webhook is not null;

-- What died in such queues and was not told yet: a row for each call and error, with the first ten tasks.
create sequence tock.death_numbers cache 1;
create table tock.deaths (
  number bigint primary key default nextval('tock.death_numbers'),
  queue text not null,
  error text,
  deaths integer not null,
  ids bigint[] not null,
  died_at timestamptz not null default clock_timestamp(),
  constraint deaths_are_counted check (deaths > 0)
);

insert into tock.duties (name, every_seconds) values ('deaths', 10);
