-- What a deploy does once all functions are there. The one file with side effects, besides the roles in grants.sql.
select tock.guard();
select tock.write_hot();

-- The functions that write_hot() has just written.
comment on function tock.place_hot is 'Where a stream''s next claim starts, in the epoch in use; null where it takes a closer look. Written by write_hot_asked().';
comment on function tock.draw_marked_hot is 'draw_statement() past what is marked, for the epoch in use; nothing when another is meant. Written by write_hot_asked().';
comment on function tock.gates_hot is 'gates_statement() for the epoch in use; null when the lease''s is another. Written by write_hot_asked().';
comment on function tock.ended_gates_hot is 'ended_gates_statement() for the epoch in use; null when it is another. Written by write_hot_asked().';
comment on function tock.told_hot is 'told_statement() for the epoch in use; null when the lease''s is another. Written by write_hot_asked().';
comment on function tock.hold_runs_hot is 'hold_runs() for the epoch in use; null when the lease''s is another. Written by write_hot_ends().';
comment on function tock.close_ended_hot is 'close_ended_statement() for the epoch in use; null when the lease''s is another. Written by write_hot_ends().';
comment on function tock.wishes_hot is 'wishes() where all ids lie in the epoch in use; null when one doesn''t. Written by write_hot_ends().';
comment on function tock.again_hot is 'again_statement() for the epoch in use; null when it is another. Written by write_hot_ends().';
comment on function tock.ended_hot is 'end_statement() for the epoch in use; null when it is another. Written by write_hot_ends().';
comment on function tock.hot_epoch is 'The epoch in use, while the hot functions are right for it; else null. Written by write_hot().';
comment on function tock.above_hot is 'Whether the next position is above a stream''s runs, as it must be; not true when that takes a closer look. Written by write_hot().';
comment on function tock.append_hot is 'Appends one task without options in the epoch in use and returns its id; null where it takes more than that: then the slow way. Written by write_hot().';
comment on function tock.look_hot is 'What a claim sees before it draws: candidates_statement() for the epoch in use, and whether something that waits is due; null when the epoch in use is another. Written by write_hot().';
comment on function tock.claim_one_hot is 'Claims one run in the epoch in use; id 0 when nothing is ready, null where it takes more than that: then the slow way. Written by write_hot().';
comment on function tock.take_hot is 'draw_statement() for the epoch in use. Written by write_hot().';
comment on function tock.end_hot is 'Closes a whole lease as done and returns how many of its runs are; null when it was closed or never there, -1 when its epoch is another, -2 when some lead on and it has to be ended by its runs. Written by write_hot().';
