import type { Bug } from './bugs.ts';

const marked: Pick<Bug, 'file'> = { file: 'routines/33_claim_marked.sql' };
const unique: Pick<Bug, 'file'> = { file: 'routines/23_unique.sql' };
const eight = 'of eight callers with one key one adds a task';

/** Unique keys and time limits. */
export const asked: Bug[] = [
  {
    ...unique,
    name: 'a key that was new to two is taken by both',
    find: /if v_one\.number is null and \(\s+select max[^;]+> 1\s+then/,
    replace: 'if false then',
    caught: ['sql/unique.test.ts', eight],
  },
  {
    ...unique,
    name: 'a key is taken away from under somebody',
    find: /and k\.number = v_one\.number;\n {8}if not found then\n {10}v_left := true;\n {10}continue;\n {8}end if;/,
    replace: 'and k.number = v_one.number;',
    caught: ['sql/unique.test.ts', eight],
  },
  {
    ...unique,
    name: 'a key is free while its task runs',
    find: "or (v_one.policy in ('unfinished', 'period') and v_one.state = 'running')",
    replace: '',
    caught: ['sql/unique.test.ts', 'the first task of a key stands for those that come'],
  },
  {
    ...unique,
    name: 'a key is kept after death',
    find: "v_one.state in ('waiting', 'ready')",
    replace: "v_one.state in ('waiting', 'ready', 'dead')",
    caught: ['sql/unique.test.ts', 'after death'],
  },
  {
    ...unique,
    name: 'an older change counts',
    find: 'if v_one.given_changed_at <= v_one.changed_at then',
    replace: 'if false then',
    caught: ['sql/unique.test.ts', 'is done once more when it ends'],
  },
  {
    file: 'routines/19_asked_options.sql',
    name: 'what changed while it ran runs beside it',
    find: "coalesce(p_task ->> 'gate', case p_task ->> 'on_conflict' when 'rerun' then p_task ->> 'unique_key' end)",
    replace: "p_task ->> 'gate'",
    caught: ['sql/unique.test.ts', 'is done once more when it ends'],
  },
  {
    file: 'routines/54_tidy_keys.sql',
    name: 'a key is forgotten while its task goes on',
    find: "w.state in ('waiting', 'ready', 'running')",
    replace: "w.state = 'waiting'",
    caught: ['sql/unique.test.ts', 'keys and gates that nobody has used for long'],
  },
  {
    ...marked,
    name: 'an expired task starts',
    find: 'coalesce(k.off, false) or coalesce(r.expired, false) as off',
    replace: 'coalesce(k.off, false) as off',
    caught: ['sql/time-limits.test.ts', 'never starts after its time'],
  },
  {
    ...marked,
    name: 'tasks of different time limits are leased together',
    find: /\s+exit when v_drawn > 0 and v_run\.timeout_seconds is distinct from v_passed\.timeout_seconds;/,
    replace: '',
    caught: ['sql/time-limits.test.ts', 'of one length is leased by itself'],
  },
  {
    file: 'routines/31_claim_statements.sql',
    name: 'empty streams of runs with options are looked at the slow way',
    find: 'case when s.start_after >= %2$s - 1 then greatest',
    replace: 'case when s.start_after >= %2$s - 1 and s.lane < 1024 then greatest',
    caught: ['sql/flat.test.ts', 'empty streams of tasks with options'],
  },
  {
    file: 'routines/31_claim_statements.sql',
    name: 'a claim of one takes a run with options the fast way',
    find: 'case when s.lane < 1024 then r.unread end as position',
    replace: 'r.unread as position',
    caught: ['sql/time-limits.test.ts', 'ends the lease, and extending does not move it'],
  },
  {
    file: 'routines/31_claim_statements.sql',
    name: 'a claim of several takes runs with options the fast way',
    find: 'case when s.lane < 1024 then c.after_position end as after_position',
    replace: 'c.after_position',
    caught: ['sql/time-limits.test.ts', 'of one length is leased by itself'],
  },
  {
    file: 'routines/30_claim.sql',
    name: 'a lease has the time limits of several streams',
    find: /continue when v_drawn > 0 and v_asks;([\s\S]*?) or \(v_drawn > 0 and v_asking\)/,
    replace: 'continue when v_drawn > 0 and v_asks <> v_asking;{inside}',
    caught: ['sql/time-limits.test.ts', 'ends a lease of one priority'],
  },
  {
    file: 'routines/44_release_extend.sql',
    name: 'a lease is extended beyond the time limit',
    find: 'least($2, l.timeout_at)',
    replace: '$2',
    caught: ['sql/time-limits.test.ts', 'ends the lease, and extending does not move it'],
  },
  {
    file: 'routines/51_reap.sql',
    name: 'a run whose time was up is taken for lost',
    find: 'select coalesce(l.timeout_at <= l.leased_until',
    replace: 'select coalesce(null <= l.leased_until',
    caught: ['sql/time-limits.test.ts', 'that is over is a failed attempt'],
  },
];
