-- Once, as the owner of the shop's tables, who may also grant Tock's roles: psql "$DATABASE_URL" -f setup.sql
-- The application logs in as `shop`, to be made first: create role shop login password '…'
-- A schema of its own: with a search path of "$user", the role `tock` would make tables among Tock's.
\set ON_ERROR_STOP 1
begin;
grant tock_producer to shop;
create schema if not exists shop;
create table if not exists shop.orders (
  id bigint generated always as identity primary key,
  customer text not null,
  total_cents integer not null check (total_cents > 0)
);
grant usage on schema shop to shop;
grant select, insert on shop.orders to shop;
commit;
