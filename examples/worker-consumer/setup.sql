-- Once, as the owner of the tables: psql "$DATABASE_URL" -f setup.sql. tock_edge is the Worker's role.
begin;
create schema if not exists shop;
create table if not exists shop.invoices (
  order_id bigint primary key,
  euro_cents integer not null
);
grant usage on schema shop to tock_edge;
grant insert on shop.invoices to tock_edge;
commit;
