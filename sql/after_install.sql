-- The last step of a deploy, after all functions exist. The only file with side effects besides the roles in
-- grants.sql.
select tock.guard();
select tock.compile_segment(e.number) from tock.segments e order by e.number;
select tock.compile_current();
