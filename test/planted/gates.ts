import type { Bug } from './bugs.ts';

const gates: Pick<Bug, 'file'> = { file: 'routines/52_gates.sql' };
const inside: Pick<Bug, 'file'> = { file: 'routines/52_inside_gates.sql' };
const line: Pick<Bug, 'file'> = { file: 'routines/52_gate_lines.sql' };
const promote: Pick<Bug, 'file'> = { file: 'routines/50_promote.sql' };
const hammered = 'whatever eight workers do, no more than its limit of a key ever run';

/** Who is let in through a gate, when, and in which order. */
export const atGates: Bug[] = [
  {
    ...gates,
    name: 'a gate forgets who is inside',
    find: 'v_policy.gate_limit) end - pg_catalog.cardinality(v_next.inside);',
    replace: 'v_policy.gate_limit) end;',
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
    find: 'order by w.queue, w.gate, w.ticket limit v_free',
    replace: 'order by w.ticket desc limit v_free',
    caught: ['sql/gates.test.ts', 'of a key one task at a time starts'],
  },
  {
    ...line,
    name: 'the place in the line is that of the enqueue',
    find: "coalesce(c.ticket, pg_catalog.nextval('tock.positions')) as ticket",
    replace: 'c.position as ticket',
    caught: ['sql/gates.test.ts', 'who came to the gate first comes in first'],
  },
  {
    ...inside,
    name: 'a task that is dead is inside still',
    find: "v_at.state in ('done', 'dead')",
    replace: "v_at.state = 'done'",
    caught: ['sql/gates.test.ts', 'is dead'],
  },
  {
    ...inside,
    name: 'what a claim under way has is taken for over',
    find: 'continue when tock.never_starts(v_at.current_id, p_lock);',
    replace: 'continue;',
    caught: ['sql/gates.test.ts', 'was cancelled meanwhile'],
  },
  {
    ...inside,
    name: 'what a claim under way has is taken for put off',
    find: 'continue when tock.never_starts(v_waits.replaces, p_lock);',
    replace: 'continue;',
    caught: ['sql/gates.test.ts', 'was put off meanwhile'],
  },
  {
    ...inside,
    name: 'a cancelled task that had run is inside still',
    find: /\s+and \(select e\.position from tock\.results_%1\$s e[^\n]+is null/,
    replace: '',
    caught: ['sql/gates.test.ts', 'is cancelled and failed'],
  },
  {
    ...line,
    name: 'the end of a task opens no gate',
    find: "if v_gates <> '{}' then",
    replace: 'if false then',
    caught: ['sql/gates.test.ts', 'is done'],
  },
  {
    file: 'routines/33_claim_marked.sql',
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
    ...promote,
    name: 'gates are not swept where nothing is due',
    find: 'return case when p_sweep then tock.sweep_gates() else 0 end;',
    replace: 'return 0;',
    caught: ['sql/gates.test.ts', 'when a task comes while'],
  },
  {
    ...gates,
    name: 'a task that comes again is inside twice',
    find: 'where t.id <> all (v_next.inside));',
    replace: ');',
    caught: ['sql/gates.test.ts', 'a task is inside once'],
  },
  {
    ...gates,
    name: 'a line is never read from its beginning',
    find: "(p_sweep or coalesce(v_turn.looked_at < v_next.turned_at - interval '5 seconds', true))",
    replace: 'p_sweep',
    caught: ['sql/gates.test.ts', 'when what committed late'],
  },
  {
    ...gates,
    name: 'a line that has expired is sent on at once',
    find: 'while v_free > 0 and v_gone < 1000 loop',
    replace: 'while v_free > 0 loop',
    caught: ['sql/gates.test.ts', 'a long line that has expired is sent on in parts'],
  },
  {
    ...inside,
    name: 'a retry gives up the turn that it may keep',
    find: 'elsif not p_keep then',
    replace: 'elsif true then',
    caught: ['sql/gates.test.ts', 'a retry that waits holds the gate'],
  },
  {
    ...inside,
    name: 'a task put off keeps its turn',
    find: 'if v_waits.replaces is not null then',
    replace: 'if false then',
    caught: ['sql/gates.test.ts', 'a task that was put off for later gives up its turn'],
  },
  {
    file: 'routines/39_retry.sql',
    name: 'a retry at once keeps the turn that it gives up',
    find: "case when p_options ->> 'gate' not like 'key:%' and p_policy.gate_retry = 'yield' then 0.05 else 0 end",
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
    ...gates,
    name: 'an alarm keeps its time though the rate has changed',
    find: /and \(coalesce\(v_next\.level, 1\) >= 1 or w\.due_at[^;]+;/,
    replace: 'and coalesce(v_next.level, 1) >= 1;',
    caught: ['sql/gates.test.ts', 'an alarm goes by the rate as it is now'],
  },
  {
    ...gates,
    name: 'an old snapshot opens gates',
    find: "pg_catalog.current_setting('transaction_isolation') <> 'read committed'",
    replace: 'false',
    caught: ['sql/gates.test.ts', 'an old snapshot lets nobody in'],
  },
  {
    file: 'routines/53_gate_verbs.sql',
    name: 'settings of a new gate hold up who comes to it',
    find: /perform pg_catalog\.pg_advisory_xact_lock\(tock\.lock_space\(\), tock\.gate_key\(p_queue, p_gate\)\);/,
    replace: '',
    caught: ['sql/gates.test.ts', 'settings left open in a transaction hold up no promotion'],
  },
  {
    file: 'routines/30_claim.sql',
    name: 'a claim through a gate may be lost in a crash',
    find: 'if v_alone and not v_asking and not v_limited then',
    replace: 'if v_alone and not v_limited then',
    caught: ['sql/gates.test.ts', 'a claim through a gate commits synchronously'],
  },
  {
    ...gates,
    name: "a rerun's gate goes by its queue's settings",
    find: "v_own := v_gate.gate like 'key:%';",
    replace: 'v_own := false;',
    caught: ['sql/unique.test.ts', "waits for the one that runs, whatever its queue's gates"],
  },
];
