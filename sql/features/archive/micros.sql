-- A time in microseconds since 1970, as the archive stores it; null for infinity. The result is not a bigint:
-- the last timestamptz, in the year 294276, is more microseconds after 1970 than a bigint holds.
create or replace function tock.micros(p_at timestamptz)
returns text language sql immutable as $$
  select case when pg_catalog.isfinite(p_at)
    then pg_catalog.trim_scale(extract(epoch from p_at) * 1000000)::text end
$$;
