-- An order and its task in one transaction, as the application's role, through a transaction pooler too:
--   psql -v customer=ann@a.example -v total_cents=4200 -f enqueue.sql
-- Both are committed or neither: no task for an order that isn't there, no order that nobody heard of.
\set ON_ERROR_STOP 1
begin;

insert into shop.orders (customer, total_cents) values (:'customer', :'total_cents')
returning id as order_id
\gset

-- jsonb_build_object writes the payload, whatever is in the values.
select tock.enqueue_task(
  p_queue => 'receipts',
  p_payload => jsonb_build_object('order_id', :order_id::bigint, 'to', :'customer')) as task_id
\gset

commit;

\echo order :order_id, task :task_id
