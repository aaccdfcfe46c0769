-- Functions on the hot path name the tables of one segment. Each stands once, as a template, from which compile_segment()
-- makes the function of each segment. A deploy replaces the templates.
create table tock.segment_templates (
  name text primary key,
  -- current: only for the segment in use, under a fixed name
  kind text not null constraint template_is_of_a_kind check (kind in ('segment', 'current')),
  file text not null,
  body text not null
);
comment on table tock.segment_templates is 'The functions that each segment has, as the files *.segment.sql and *.current.sql hold them.';

-- A part of a lease, in one stream.
create type tock.lease_span as (stream integer, after_position bigint, last_position bigint, skips bigint[]);

-- Where a task goes on whose run is done; waits: not before those have ended that the run spawns.
create type tock.continuation as (queue text, waits boolean, payload jsonb, unchanged boolean);

-- What a completion makes of runs: the places of those that it counts, what ends now, which of these spawn tasks, and
-- the fields to name where a payload is too large for its next queue.
create type tock.completion as (good bigint[], ended tock.ending[], spawning tock.leased_run[], fields text[]);
