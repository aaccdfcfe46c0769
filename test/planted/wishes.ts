import type { Bug } from './bugs.ts';

const judge: Pick<Bug, 'file'> = { file: 'routines/34_judge.sql' };
const wish: Pick<Bug, 'file'> = { file: 'routines/35_wishes.sql' };
const end: Pick<Bug, 'file'> = { file: 'routines/40_end_runs.sql' };
const promote: Pick<Bug, 'file'> = { file: 'routines/50_promote.sql' };
const told: Pick<Bug, 'file'> = { file: 'routines/60_task.sql' };
const change: Pick<Bug, 'file'> = { file: 'routines/63_cancel_change.sql' };
const supersede: Pick<Bug, 'file'> = { file: 'routines/64_change_parts.sql' };
const erase: Pick<Bug, 'file'> = { file: 'routines/65_erase.sql' };
const letGo: Pick<Bug, 'file'> = { file: 'routines/74_let_go.sql' };

/** Cancels and changes as they are made, kept, told and forgotten. */
export const wishes: Bug[] = [
  {
    ...end,
    name: "who ends an attempt does not read what its task's first run says",
    find: /select a\.task_id from unnest\(p_again\) a where a\.cancelled is null\s+union /,
    replace: '',
    caught: [
      'sql/marks-races.test.ts',
      'task changed in an open transaction, and meanwhile failed',
    ],
  },
  {
    ...end,
    name: "who ends an attempt reads what its task's first run says only",
    find: /\s+union select a\.position << 20 \| a\.stream from unnest\(p_again\) a where a\.cancelled is null/,
    replace: '',
    caught: ['sql/let-go.test.ts', 'that is running is changed and canceled for its next attempt'],
  },
  {
    ...end,
    name: 'a cancelled task is tried again',
    find: 'coalesce(t.cancelled, false) or coalesce(o.cancelled, false)',
    replace: 'false',
    caught: ['sql/cancel.test.ts', 'is not tried again'],
  },
  {
    ...end,
    name: 'the next attempt has the payload of the last one',
    find: 'case when e.payload_of is not null then tock.with_own_payload(r.payload, r.options, tock.changed_payload(e.payload_of))',
    replace: 'case when false then null',
    caught: ['sql/change.test.ts', 'what is changed of a running task that is'],
  },
  {
    ...end,
    name: 'a changed time overrules the backoff',
    find: "greatest(a.due_at, (c.changes ->> 'run_at')::timestamptz)",
    replace: "coalesce((c.changes ->> 'run_at')::timestamptz, a.due_at)",
    caught: ['sql/change.test.ts', 'a running task put off is tried again no sooner'],
  },
  {
    ...wish,
    name: 'a change overrules all earlier ones',
    find: 'tock.marks.changes || excluded.changes',
    replace: 'excluded.changes',
    caught: ['sql/marks-races.test.ts', 'two changes of a running task at once hold together'],
  },
  {
    ...promote,
    name: 'what was cancelled on its way is promoted',
    find: 'if pg_catalog.cardinality(v_tasks) > 0 then',
    replace: 'if false then',
    caught: ['sql/marks-races.test.ts', 'a task cancelled in an open transaction, and meanwhile'],
  },
  {
    ...promote,
    name: 'what is promoted forgets what it replaces',
    find: "select 'replaces' where p.replaces is not null union all ",
    replace: '',
    caught: ['sql/marks-judge.test.ts', 'a run put off too late holds off'],
  },
  {
    ...told,
    name: 'a task goes on with what came too late',
    find: 'case when l.stream is null and n.other_id > 0 then n.other_id',
    replace: 'case when n.other_id > 0 then n.other_id',
    caught: ['sql/marks-judge.test.ts', 'what came too late to replace a run is dropped'],
  },
  {
    ...change,
    name: 'a waiting task is changed for the attempt that waits only',
    find: 'or f.current_id = any (v_done)',
    replace: '',
    caught: ['sql/marks-races.test.ts', 'a later change is not overruled by an earlier one'],
  },
  {
    ...change,
    name: 'a ready task is changed for the attempt that is ready only',
    find: /\s*or f\.current_id in \(select r\.current_id from unnest\(v_replaced\) r\)/,
    replace: '',
    caught: ['sql/marks-judge.test.ts', 'what came too late to replace a run is dropped'],
  },
  {
    ...change,
    name: 'a cancel forgets what it marked before it looked again',
    find: 'select v_marked || array(',
    replace: 'select array(',
    caught: ['sql/marks-races.test.ts', 'a cancel that marked a task on its way'],
  },
  {
    ...change,
    name: 'a cancel marks the newest run only',
    find: ' union all select f.task_id where f.task_id <> f.current_id',
    replace: '',
    caught: ['sql/marks-races.test.ts', 'a replacement cancelled while its original starts'],
  },
  {
    ...change,
    name: 'a cancel takes no key that a change would take',
    find: /from unnest\(v_found\) f where f\.state = 'ready'([\s\S]*?)where f\.state = 'running'/,
    replace: "from unnest(v_found) f where false{inside}where f.state in ('ready', 'running')",
    caught: ['sql/marks-races.test.ts', 'of a cancel and a change at once'],
  },
  {
    ...change,
    name: 'a cancel does not look again',
    find: /where f\.current_id <> all \(v_stopped\) or .*\);/,
    replace: 'where false);',
    caught: ['sql/marks-races.test.ts', 'of a change and a cancel at once'],
  },
  {
    ...change,
    name: 'a change does not look again',
    find: "when 'ready' then r.n is null or w.current_id not in (r.n, f.current_id)",
    replace: "when 'ready' then false",
    caught: ['sql/marks-races.test.ts', 'task at once both hold'],
  },
  {
    ...supersede,
    name: 'two changes at once both replace the run',
    find: 'from placed p join marked m using (stream, position)',
    replace: 'from placed p',
    caught: ['sql/marks-races.test.ts', 'task at once both hold'],
  },
  {
    ...supersede,
    name: 'a replacement does not say what it replaces',
    find: /('replaces', p\.position << 20 \| p\.stream\s*from placed p .*) where p\.next_stream <> 0/,
    replace: '{inside} where false',
    caught: ['sql/marks-judge.test.ts', 'what came too late to replace a run is dropped'],
  },
  {
    ...supersede,
    name: 'a replacement that waits does not say what it replaces',
    find: 'p.created_at, p.new_bytes, p.payload, p.position << 20 | p.stream',
    replace: 'p.created_at, p.bytes, p.payload, null',
    caught: ['sql/marks-judge.test.ts', 'a run put off too late holds off'],
  },
  {
    ...erase,
    name: 'what was to hold for a next attempt is not erased',
    find: "and m.kind = 'amended'",
    replace: 'and false',
    caught: ['sql/erase.test.ts', 'nothing of an erased task is left'],
  },
  {
    ...erase,
    name: 'results are not erased',
    find: 'set result = null, error = null where',
    replace: 'set result = e.result where',
    caught: ['sql/erase.test.ts', 'an error is erased where it ends a task'],
  },
  {
    ...erase,
    name: 'what came too late is not erased',
    find: /\s*union all\s*select m\.other_id from [^)]*m\.kind = 'superseded'/,
    replace: '',
    caught: ['sql/erase.test.ts', 'so is what came too late to replace a run'],
  },
  {
    name: 'a worker is asked to stop what its claim passed over',
    file: 'routines/44_release_extend.sql',
    find: /\s*and \(select m\.position = any \(l\.skips\)[\s\S]*?is not true/,
    replace: '',
    caught: ['sql/cancel.test.ts', 'no worker is asked to stop what its claim passed over'],
  },
  {
    ...letGo,
    name: 'an epoch goes before what replaces its runs could be judged',
    find: 'if v_unsure then',
    replace: 'if false then',
    caught: ['sql/let-go-late.test.ts', 'nor does the epoch go while'],
  },
  {
    ...letGo,
    name: 'what waits to replace a run too late is kept',
    find: 'where w.replaces >= $1 and w.replaces < $2',
    replace: 'where false',
    caught: ['sql/let-go-late.test.ts', 'neither what waits'],
  },
  {
    ...letGo,
    name: 'of what replaced one another only the last is judged',
    find: 'where l.at >= $1 and m.replaces is not null',
    replace: 'where false',
    caught: ['sql/let-go-late.test.ts', 'nor does the epoch go while'],
  },
  {
    ...judge,
    name: 'what was told that it is too late starts where a claim had not seen it',
    find: "return case when tock.is_cancelled(v_id) then 'late' else 'go' end;",
    replace: "return 'go';",
    caught: ['sql/let-go-late.test.ts', 'nor what a claim was judging'],
  },
  {
    name: 'an epoch goes with what was changed at the last moment',
    file: 'routines/73_retain.sql',
    find: 'if tock.replaced_in(p_epoch) <> p_replaced then',
    replace: 'if false then',
    caught: ['sql/let-go-late.test.ts', 'nor what somebody was changing'],
  },
  {
    ...change,
    name: 'cancels take their keys in another order than changes',
    find: 'order by 2, 1',
    replace: 'order by 1, 2',
    caught: ['sql/marks-races.test.ts', 'a change and a cancel of tasks in two epochs'],
  },
  {
    ...wish,
    name: 'an epoch that goes takes the end of an attempt with it',
    find: "when undefined_table then v_part := '{}';",
    replace: "when undefined_table then raise exception 'gone';",
    caught: ['sql/let-go.test.ts', 'whose attempt ends while the epoch goes'],
  },
  {
    ...erase,
    name: 'what nothing leads to any more is not erased',
    find: 'where r.task_id = v_task.task_id',
    replace: 'where false',
    caught: ['sql/erase.test.ts', 'epoch is gone is erased in those that are left'],
  },
  {
    name: 'the audit hands out what was changed',
    file: 'routines/71_audit.sql',
    find: "and m.kind = 'superseded' and m.other_id > 0",
    replace: 'and false',
    caught: ['sql/audit-duty.test.ts', 'a run that was changed before it was found'],
  },
  {
    name: 'waiting entries and promotions are read in two statements',
    file: 'routines/62_change.sql',
    find: /v_step := array\(\s*select row\(s\.n, coalesce\(w\.task_id[\s\S]*?v_next := [^;]*;/,
    replace: `return query select s.n, s.task_id, s.current_id, 'waiting', w.queue
      from unnest(v_open) s join tock.waiting w on w.position = s.current_id >> 20;
    v_next := array(
      select row(s.n, s.task_id, p.run_id, null, null)::tock.whereabout
      from unnest(v_open) s join tock.promotions p on p.position = s.current_id >> 20
      where s.current_id & 1048575 = 0);`,
    caught: ['sql/overtaken.test.ts', 'a task that is promoted while it is being'],
  },
];
