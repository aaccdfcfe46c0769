import type { Bug } from './bugs.ts';

const marked: Pick<Bug, 'file'> = { file: 'routines/33_claim_marked.sql' };
const gates: Pick<Bug, 'file'> = { file: 'routines/52_gates.sql' };
const line: Pick<Bug, 'file'> = { file: 'routines/52_gate_lines.sql' };
const unique: Pick<Bug, 'file'> = { file: 'routines/23_unique.sql' };
const promote: Pick<Bug, 'file'> = { file: 'routines/50_promote.sql' };
const hammered = 'whatever eight workers do, no more than its limit of a key ever run';
const eight = 'of eight callers with one key one adds a task';

/** Gates, unique keys and time limits. */
export const asked: Bug[] = [
  {
    ...gates,
    name: 'a gate forgets who is inside',
    find: '      - pg_catalog.cardinality(v_next.inside);',
    replace: '      - 0;',
    caught: ['sql/gates.test.ts', hammered],
  },
  {
    ...gates,
    name: 'two let in at one gate at once',
    find: /order by g\.queue, g\.gate for update skip locked\);\nend/,
    replace: 'order by g.queue, g.gate);\nend',
    caught: ['sql/gates.test.ts', hammered],
  },
  {
    ...gates,
    name: 'a gate lets in who came last',
    find: 'order by w.queue, w.gate, w.position limit v_free for update skip locked) h;',
    replace: 'order by w.position desc limit v_free for update skip locked) h;',
    caught: ['sql/gates.test.ts', 'of a key one task at a time starts'],
  },
  {
    ...gates,
    name: 'a task that ended is inside still',
    find: "i.state in ('waiting', 'ready', 'running')\n    left join",
    replace: "i.state in ('waiting', 'ready', 'running', 'dead')\n    left join",
    caught: ['sql/gates.test.ts', 'is dead'],
  },
  {
    ...line,
    name: 'the end of a task opens no gate',
    find: '    perform tock.open_gates(v_queues, v_gates);\n  end if;\nend $$;\n\ncomment on function tock.leave_gates',
    replace: '  end if;\nend $$;\n\ncomment on function tock.leave_gates',
    caught: ['sql/gates.test.ts', 'is done'],
  },
  {
    ...marked,
    name: 'who is passed over opens no gate',
    find: 'if pg_catalog.cardinality(v_gates) > 0 then',
    replace: 'if false then',
    caught: ['sql/gates.test.ts', 'is cancelled while it is ready'],
  },
  {
    ...promote,
    name: 'gates are not swept',
    find: '  if p_sweep then\n    perform tock.sweep_gates();\n  end if;',
    replace: '',
    caught: ['sql/gates.test.ts', 'beside other work that is due'],
  },
  {
    ...gates,
    name: 'a line is never read from its beginning',
    find: "p_bottom or coalesce(v_turn.looked_at < v_next.turned_at - interval '5 seconds', true)",
    replace: 'p_bottom',
    caught: ['sql/gates.test.ts', 'when what committed late'],
  },
  {
    ...promote,
    name: 'gates are not swept where nothing is due',
    find: 'return case when p_sweep then tock.sweep_gates() else 0 end;',
    replace: 'return 0;',
    caught: ['sql/gates.test.ts', 'when a task comes while'],
  },
  {
    ...gates,
    name: 'a retry gives up the turn that it may keep',
    find: "where i.state <> 'waiting' or (v_policy.gate_retry = 'keep' and w.replaces is null);",
    replace: "where i.state <> 'waiting';",
    caught: ['sql/gates.test.ts', 'a retry that waits holds the gate'],
  },
  {
    ...gates,
    name: 'a task put off keeps its turn',
    find: "or (v_policy.gate_retry = 'keep' and w.replaces is null);",
    replace: "or v_policy.gate_retry = 'keep';",
    caught: ['sql/gates.test.ts', 'a task that was put off for later gives up its turn'],
  },
  {
    file: 'routines/39_retry.sql',
    name: 'a retry at once keeps the turn that it gives up',
    find: "case when p_options ? 'gate' and p_policy.gate_retry = 'yield' then 0.05 else 0 end",
    replace: '0',
    caught: ['sql/gates.test.ts', 'a retry keeps its turn, and gives it up'],
  },
  {
    ...gates,
    name: 'a bucket is never emptied',
    find: 'v_next.level := v_next.level - pg_catalog.cardinality(v_more);',
    replace: '',
    caught: ['sql/gates.test.ts', 'a gate with a rate lets in a burst'],
  },
  {
    file: 'routines/30_claim.sql',
    name: 'a claim through a gate may be lost in a crash',
    find: 'if v_alone and not v_asking and not v_limited then',
    replace: 'if v_alone and not v_limited then',
    caught: ['sql/gates.test.ts', 'a claim through a gate commits synchronously'],
  },
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
