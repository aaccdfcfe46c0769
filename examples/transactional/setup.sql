-- Once, as the owner of the shop's tables, who may also grant Tock's roles: psql -f setup.sql
-- The application logs in as `shop`: create role shop login password '…'
grant tock_producer to shop;

create table orders (
  id bigint generated always as identity primary key,
  customer text not null,
  total_cents integer not null check (total_cents > 0)
);
grant select, insert on orders to shop;
