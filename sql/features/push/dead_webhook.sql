-- Raises TK422 for an invalid dead_webhook of a queue.
create or replace function tock.check_dead_webhook(p_queue text, p_webhook jsonb)
returns void language plpgsql immutable as $$
declare
  v_key text;
begin
  if coalesce(p_webhook, 'null') = 'null' then
    return;
  elsif p_queue = 'tock-webhooks' then
    perform tock.refuse(422, 'tock-webhooks cannot have a dead_webhook: a dead webhook would cause another',
      'dead_webhook', 'see tock dead tock-webhooks');
  elsif pg_catalog.jsonb_typeof(p_webhook) <> 'object' then
    perform tock.refuse(422, 'dead_webhook must be an object with a url, or null', 'dead_webhook');
  end if;
  select k into v_key from pg_catalog.jsonb_object_keys(p_webhook) k where k <> 'url' order by k limit 1;
  if found then
    perform tock.refuse(422, 'dead_webhook has no ' || v_key || '; it has url', 'dead_webhook.' || v_key);
  elsif tock.url_error(p_webhook -> 'url') is not null then
    perform tock.refuse(422, 'url ' || tock.url_error(p_webhook -> 'url'), 'dead_webhook.url');
  end if;
end $$;
