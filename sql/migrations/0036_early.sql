-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.epochs in access exclusive mode;

-- Ended on demand: it goes as soon as the archive has it, whatever its queues' retention.
alter table tock.epochs add column early boolean not null default false;
