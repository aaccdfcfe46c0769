-- A queue's waiting tasks are listed the newest first, as all others are.
create index waiting_by_position on tock.waiting (queue, position);

drop function if exists tock.select_tasks(text, text, text, text, boolean, integer, text, integer, integer);
drop function if exists tock.as_they_stand(tock.listed[]);
drop function if exists tock.list_waiting(text, text, text, integer, timestamptz, bigint, integer, integer, bigint);
drop function if exists tock.listing_statement(integer, text), tock.seen_statement(integer, text), tock.sources_of(text);
drop function if exists tock.read_cursor(text, text[]), tock.bounded_cursor(text, text), tock.bound_of(jsonb);
drop function if exists tock.search(jsonb, text, integer), tock.search_statement(integer), tock.search_below(text);
drop function if exists tock.search_waiting(jsonb, bigint, integer, integer), tock.search_by_key(jsonb, integer);
drop function if exists tock.search_time(jsonb, text), tock.searched_streams(text, bigint), tock.searched_epoch(jsonb, bigint);
drop function if exists tock.searched_page(jsonb);
drop type tock.page;
drop type tock.listed;
