import type { Bug } from './bugs.ts';

const pass: Pick<Bug, 'file'> = { file: 'routines/33_claim_marked.sql' };
const judge: Pick<Bug, 'file'> = { file: 'routines/34_judge.sql' };

/** Cancels and changes as a claim meets them: judged, put off, passed over. */
export const marks: Bug[] = [
  {
    ...judge,
    name: 'a replacement starts while its original may be starting',
    find: "return 'later';",
    replace: "return 'go';",
    caught: ['sql/marks-judge.test.ts', 'a replacement is put off while its original'],
  },
  {
    ...judge,
    name: 'only the run that was replaced last is judged',
    find: 'v_replaced := v_at.replaces;',
    replace: 'v_replaced := null;',
    caught: ['sql/marks-judge.test.ts', 'of five changes in a row with a claim in between'],
  },
  {
    ...judge,
    name: "a judge takes no second key beside a stranger's lock",
    find: ' and pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), -1 - v_stream)',
    replace: '',
    caught: ['sql/marks-judge.test.ts', "a claim that goes on beside a stranger's lock"],
  },
  {
    ...judge,
    name: 'what a claim skipped is taken for started',
    find: "and l.runs > 0 and $2 <> all (coalesce(l.skips, '{}')) as started",
    replace: 'and l.runs > 0 as started',
    caught: ['sql/marks-open.test.ts', 'beside claims holds for all that was not taken'],
  },
  {
    ...judge,
    name: 'what a claim passed over is taken for started',
    find: "and l.runs > 0 and $2 <> all (coalesce(l.skips, '{}')) as started",
    replace: "and $2 <> all (coalesce(l.skips, '{}')) as started",
    caught: ['sql/change.test.ts', 'a ready task with another priority is claimed'],
  },
  {
    ...judge,
    name: 'a run that was changed meanwhile is put off all the same',
    find: 'from placed p join put_off o using (stream, position)',
    replace: 'from placed p',
    caught: ['sql/marks-put-off.test.ts', 'a run that was changed meanwhile is not put off'],
  },
  {
    ...judge,
    name: 'what cannot be put off is passed over as if it had been',
    find: 'when lock_not_available then return false;',
    replace: 'when lock_not_available then return true;',
    caught: ['sql/marks-put-off.test.ts', 'a change left open keeps a claim from putting'],
  },
  {
    ...judge,
    name: 'what is put off forgets what it replaces',
    find: 'p.position << 20 | p.stream, p.options,',
    replace: 'null, p.options,',
    caught: ['sql/marks-judge.test.ts', 'a replacement is put off while its original'],
  },
  {
    ...pass,
    name: 'an old snapshot does not look whether its runs were replaced since',
    find: 'or tock.sees_all_marks(p_epoch, p_stream, v_passed.after_position, v_passed.upto)',
    replace: 'or true',
    caught: ['sql/marks-judge.test.ts', 'snapshot a claim does not take an original'],
  },
  {
    ...pass,
    name: 'a change left open is taken for none by an old snapshot',
    find: 'when lock_not_available then return false;',
    replace: 'when lock_not_available then return true;',
    caught: ['sql/marks-judge.test.ts', 'under an old snapshot a claim passes over'],
  },
  {
    ...pass,
    name: "an old snapshot does not look whether its original's stream was claimed from since",
    find: 'perform tock.skip_to(p_stream, v_after, v_after + 1, 0);',
    replace: '',
    caught: ['sql/marks-judge.test.ts', 'snapshot a claim does not take a replacement'],
  },
  {
    ...pass,
    name: 'marked runs are passed over without a bound',
    find: ' or v_before + v_leading >= 10000 then',
    replace: ' then',
    caught: ['sql/marks-passing.test.ts', '50,000 cancelled in a row'],
  },
  {
    ...pass,
    name: 'as many marked runs are passed over in each stream',
    find: "'passed ' || least(v_before + v_leading, 10000)",
    replace: "'passed ' || least(v_leading, 10000)",
    caught: ['sql/marks-passing.test.ts', 'cancelled ones over many streams'],
  },
  {
    ...pass,
    name: 'a lease says of any number of runs that it skipped them',
    find: ' or pg_catalog.cardinality(v_passed.skips) = 1000',
    replace: '',
    caught: ['sql/marks-passing.test.ts', 'where every second is cancelled'],
  },
  {
    ...pass,
    name: 'a claim judges any number of replacements',
    find: 'when v_judged < 500 then',
    replace: 'when true then',
    caught: ['sql/marks-passing.test.ts', 'three thousand replacements are judged'],
  },
  {
    ...pass,
    name: 'runs are passed over without a lease',
    find: 'perform tock.skip_to(p_stream, p_after, v_passed.after_position, v_leading);',
    replace: 'null;',
    caught: ['sql/cancel.test.ts', 'a cancelled task is never handed out'],
  },
  {
    ...pass,
    name: 'what cannot be judged now is passed over for good',
    find: 'v_later := v_later || v_run.position;',
    replace: 'null;',
    caught: ['sql/marks-judge.test.ts', 'a replacement is put off while its original'],
  },
  {
    ...pass,
    name: 'what cannot be judged now is skipped behind others',
    find: "exit when v_verdict <> 'late';",
    replace: '',
    caught: ['sql/marks-judge.test.ts', 'a replacement between others is put off'],
  },
];
