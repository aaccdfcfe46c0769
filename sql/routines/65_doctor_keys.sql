-- One that nobody uses any more may end unseen, and so may one that has been replaced: rotation meant it to.
create or replace function tock.doctor_of_keys()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select 'a key is about to expire', 'warning',
    pg_catalog.format('%s (%s) at %s; it was last used at %s', e.prefix, e.name, tock.utc(e.expires_at), tock.utc(e.last_used_at)),
    pg_catalog.format('tock key rotate %s makes one that replaces it, tock key change %s --expires-in gives it longer', e.prefix, e.prefix)
  from (
    select k.prefix, k.name, k.expires_at, u.last_used_at
    from tock.keys k join tock.key_uses u on u.prefix = k.prefix
    where k.revoked_at is null and k.expires_at > pg_catalog.clock_timestamp()
      and k.expires_at < pg_catalog.clock_timestamp() + interval '7 days'
      and u.last_used_at > pg_catalog.clock_timestamp() - interval '7 days'
      and not exists (select from tock.keys r where r.replaces = k.prefix and r.revoked_at is null)
    order by k.expires_at limit 20) e
$$;

comment on function tock.doctor_of_keys is 'What doctor() says of keys: those in use that end within seven days.';
