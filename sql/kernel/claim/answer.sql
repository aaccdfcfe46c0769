create or replace function tock.claim_answer()
returns text
language plpgsql
volatile
as $$
declare
  v_said text := pg_catalog.current_setting('tock.claim', true);
begin
  if v_said like 'passed %' then
    return case when pg_catalog.substr(v_said, 8)::integer < 10000 then 'empty' else 'passing' end;
  end if;
  return coalesce(nullif(pg_catalog.split_part(v_said, ' ', 1), ''), 'empty');
end $$;

comment on function tock.claim_answer is
  'About this transaction''s last claim: found, empty, paused, limited (as many are running, or were started, as the queue''s limits allow), busy (there is something, in streams that others hold) or passing (10,000 cancelled runs were passed over: claim again at once).';

create or replace function tock.retry_after_seconds(p_queue text)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_after text := substring(pg_catalog.current_setting('tock.claim', true) from '^(?!passed)\w+ (\d+)$');
begin
  if v_after is not null then
    return v_after::integer;
  elsif tock.claim_answer() = 'passing' then
    return 0;
  end if;
  return greatest(1, least(30, pg_catalog.ceil(extract(epoch from
    (select w.due_at from tock.waiting w
     where w.queue = p_queue and w.due_at > pg_catalog.now() - interval '5 seconds' and w.due_at < 'infinity'
     order by w.queue, w.due_at limit 1)
      - pg_catalog.clock_timestamp()))))::integer;
end $$;

comment on function tock.retry_after_seconds is
  'When to come back after an empty claim: seconds to the queue''s next waiting task, 1 to 30; 0 when it was only passing over cancelled runs; when it was limited, seconds to the next start that its rate allows, 1 where it waits for one to end.';
