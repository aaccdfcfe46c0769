-- A queue with push has its tasks sent to an endpoint: {url, timeout_seconds}, or null. The secret that signs is nowhere
-- here: it is derived from the Worker's, the queue's name and this generation. Until previous_until the one before signs too.
alter table tock.queues
  add column push jsonb,
  add column push_generation integer not null default 1,
  add column push_previous_until timestamptz,
  add constraint push_is_an_object check (pg_catalog.jsonb_typeof(push) = 'object'),
  add constraint default_policy_has_no_push check (name <> '*' or push is null),
  add constraint push_generation_is_positive check (push_generation > 0);

create index queues_with_push on tock.queues (name) where push is not null;
