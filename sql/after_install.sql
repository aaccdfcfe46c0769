-- What a deploy does once all functions are there. The one file with side effects, besides the roles
-- in grants.sql.
select tock.guard();
select tock.compile_segment(e.number) from tock.segments e order by e.number;
select tock.compile_current();
