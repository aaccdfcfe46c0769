-- Of the last sweep of waiting: who was still writing there, so that what they commit lies below what it has passed.
alter table tock.duties add column writers text[] not null default '{}';
