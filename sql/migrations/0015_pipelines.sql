-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys in access exclusive mode;

-- A run that is done may lead on: to its task's next stage. All results are read once.
alter table tock.results drop constraint only_the_unfinished_go_on,
  add constraint the_cancelled_and_expired_end check (next_id is null or state not in ('cancelled', 'expired'));

-- A run that ends, in place of tock.ended: where its task goes on (queue null: where it is), and with what (payload
-- null: as it is; a JSON null is none).
create type tock.ending as (
  stream integer, position bigint, state text, result jsonb, error jsonb, again_at timestamptz, attempt smallint,
  lost smallint, queue text, payload jsonb);

-- What goes on, in place of tock.again. A payload that was wished for at a run up to stage_after is of an earlier stage.
create type tock.going as (
  n bigint, stream integer, position bigint, task_id bigint, attempt smallint, max_attempts smallint, tenant text,
  created_at timestamptz, bytes integer, payload_of bigint, queue text, priority smallint, lane smallint,
  due_at timestamptz, cancelled boolean, lost smallint, stage_after bigint);
