-- A change holds its stream's claim lock, so what replaces a run needs no mark that it might have come too late.
delete from tock.marks m where m.kind = 'replaces';
alter table tock.marks
  drop constraint kind_is_known,
  drop constraint replacing_names_the_other;
alter table tock.marks
  add constraint kind_is_known check (kind in ('cancelled', 'superseded', 'amended')),
  add constraint superseded_names_the_other check ((other_id is not null) = (kind = 'superseded'));
drop index tock.marks_that_replace;
alter table tock.waiting drop column replaces;
alter table tock.archives drop column replaced;

drop function if exists tock.judge(bigint, bigint);
drop function if exists tock.postpone(integer, integer, bigint[]);
drop function if exists tock.judge_replacements(integer, integer);
drop function if exists tock.replaced_in(integer);
drop function if exists tock.archived_before(integer, bigint);
drop function if exists tock.drop_epoch(integer, bigint);
drop function if exists tock.sees_all_marks(integer, integer, bigint, bigint);
drop function if exists tock.check_policy_is_new(text);
drop function if exists tock.check_cursor(integer);
drop function if exists tock.whereabouts(bigint[], bigint[]);
drop function if exists tock.searched_page(jsonb);
drop function if exists tock.as_they_stand(tock.listed[]);
