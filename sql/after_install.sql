-- The last step of a deploy, after all functions exist. Besides the roles in grants.sql, only this file has
-- side effects.
select tock.guard();
select tock.compile_segment(e.number) from tock.segments e order by e.number;
select tock.compile_current();
