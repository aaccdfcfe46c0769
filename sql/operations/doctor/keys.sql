-- Findings about keys in use that expire within seven days, and about keys for tenants without a rate. A key
-- that is no longer used causes no warning, and neither does a key that was rotated, since it is meant to
-- expire.
create or replace function tock.doctor_of_keys()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'a key is about to expire', 'warning',
    pg_catalog.format('%s (%s) at %s; last used at %s', e.prefix, e.name, tock.utc(e.expires_at),
      tock.utc(e.last_used_at)),
    pg_catalog.format(
      'tock key rotate %s makes a replacement, tock key change %s --expires-in extends it',
      e.prefix, e.prefix)
  from (
    select k.prefix, k.name, k.expires_at, u.last_used_at
    from tock.keys k join tock.key_uses u on u.prefix = k.prefix
    where k.revoked_at is null and k.expires_at > pg_catalog.clock_timestamp()
      and k.expires_at < pg_catalog.clock_timestamp() + interval '7 days'
      and u.last_used_at > pg_catalog.clock_timestamp() - interval '7 days'
      and not exists (select from tock.keys r where r.replaces = k.prefix and r.revoked_at is null)
    order by k.expires_at limit 20) e
  union all
  select 'a key for tenants has no rate', 'warning',
    pg_catalog.format('%s %s without a rate: %s', n.keys, case when n.keys = 1 then 'key is'
      else 'keys are' end, n.named),
    pg_catalog.format(
      'tock key change %s --rate 50/1: then the calls of one tenant leave the other tenants their '
      'share of the database', n.first)
  from (
    select count(*) as keys, min(k.prefix) as first,
      pg_catalog.string_agg(pg_catalog.format('%s (%s)', k.prefix, k.name), ', ' order by k.prefix)
        filter (where k.n <= 5) as named
    from (
      select k.prefix, k.name, row_number() over (order by k.prefix) as n from tock.keys k
      where k.tenants is not null and k.rate_limit is null and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp())) k) n
  where n.keys > 0
$$;
