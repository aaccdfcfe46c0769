-- What keys are limited to beside scopes and queues; and who did what to queues, keys and what else is governed.
alter table tock.keys
  add column tenants text[],
  add column expires_at timestamptz,
  -- what a key that replaces this one lasts for
  add column lifetime interval,
  add column rate_limit integer,
  add column rate_seconds integer,
  add column replaces text collate "C" references tock.keys (prefix),
  add constraint tenants_are_some check (pg_catalog.cardinality(tenants) > 0),
  add constraint key_with_tenants_enqueues_and_reads check (tenants is null or scopes <@ array['enqueue', 'read']),
  add constraint key_rate_is_whole check ((rate_limit is null) = (rate_seconds is null)),
  -- more would not go into a count of 20 bits, beside those who look at it at the same moment
  add constraint key_rate_is_in_range check (rate_limit between 1 and 1000000 and rate_seconds between 1 and 86400);

create index keys_by_replaced on tock.keys (replaces);
create unique index keys_replaced_by_one on tock.keys (replaces) where revoked_at is null;

-- Apart from keys, which no use touches. `seen` is where the key's sequence was when it was looked at last.
create table tock.key_uses (
  prefix text collate "C" primary key references tock.keys (prefix),
  uses bigint not null default 0,
  seen bigint not null default 0,
  last_used_at timestamptz
);

create sequence tock.act_numbers cache 1;
create table tock.acts (
  number bigint primary key default nextval('tock.act_numbers'),
  at timestamptz not null default clock_timestamp(),
  role text not null,
  key text collate "C",
  verb text not null,
  object text not null,
  detail jsonb not null default '{}'
);
create index acts_by_key on tock.acts (key, number);
create index acts_by_verb on tock.acts (verb, number);
create index acts_by_object on tock.acts (object, number);

insert into tock.duties (name, every_seconds) values ('keys', 60);
