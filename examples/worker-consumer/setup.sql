-- Once, as the owner of the tables; tock_edge is the Worker's role.
create table invoices (
  order_id bigint primary key,
  euro_cents integer not null
);
grant insert on invoices to tock_edge;
