-- concurrency_keys() has another column.
drop function if exists tock.concurrency_keys(text, text, text, integer);
