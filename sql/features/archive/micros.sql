-- Not a bigint, because timestamptz covers 2,000 years more than a bigint of microseconds.
create or replace function tock.micros(p_at timestamptz)
returns text language sql immutable as $$
  select case when pg_catalog.isfinite(p_at)
    then pg_catalog.trim_scale(extract(epoch from p_at) * 1000000)::text end
$$;

comment on function tock.micros is
  'A time in microseconds since 1970, as the archive stores it; null for infinity.';
