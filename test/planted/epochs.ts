import type { Bug } from './bugs.ts';

const settle: Pick<Bug, 'file'> = { file: 'routines/14_epochs.sql' };
const moveUp: Pick<Bug, 'file'> = { file: 'routines/15_cursors.sql' };
const audit: Pick<Bug, 'file'> = { file: 'routines/71_audit.sql' };
const retain: Pick<Bug, 'file'> = { file: 'routines/73_retain.sql' };

/** Epochs: made, passed, settled, audited, dropped. */
export const epochs: Bug[] = [
  {
    ...settle,
    name: 'rotation waits for readers',
    find: 'for v_leaf in\n    select t.name, t.key, p_first',
    replace:
      'lock table tock.runs in access exclusive mode;\n  for v_leaf in\n    select t.name, t.key, p_first',
    caught: ['sql/epochs.test.ts', 'epochs are made ahead beside a reader'],
  },
  {
    name: 'a claim goes over an edge without a lease for the gap',
    file: 'routines/32_claim_slow.sql',
    find: 'perform tock.skip_to(p_stream, v_at.after_position, v_first - 1, 0);',
    replace: '',
    caught: ['sql/move-up.test.ts', 'a paused queue is worked off from its oldest run on'],
  },
  {
    name: 'one token holds leases of two epochs',
    file: 'routines/30_claim.sql',
    find: 'continue when v_drawn > 0 and v_epoch <> v_hot;',
    replace: '',
    caught: ['sql/epochs.test.ts', 'a claim that begins in an old epoch'],
  },
  {
    ...moveUp,
    name: 'a cursor is looked for in one leaf only',
    find: 'exit when tock.epoch_of(v_after + 1) = v_epoch;',
    replace: 'exit;',
    caught: ['sql/move-up.test.ts', 'a paused queue is worked off from its oldest run on'],
  },
  {
    ...moveUp,
    name: 'what a claim reads of two epochs comes from two snapshots',
    find: "order by r.stream, r.position limit 1', p_after)",
    replace: `order by r.stream, r.position limit 1',
        coalesce((select e.end_position - 1 from tock.epochs e where e.number = v_epoch), p_after))`,
    caught: ['sql/move-up.test.ts', 'a claim that looks further up sees'],
  },
  {
    ...moveUp,
    name: 'a stream is moved up past its next run',
    find: 'else v_first - 1 end',
    replace: 'else v_first end',
    caught: ['sql/move-up.test.ts', 'a stream is moved up to the epoch it has come to'],
  },
  {
    ...moveUp,
    name: 'moving up waits for a writer that holds its stream',
    find: 't.start_after <= v_after for update skip locked',
    replace: 't.start_after <= v_after',
    caught: ['sql/move-up.test.ts', 'epochs are made and settled as ever'],
  },
  {
    name: 'a claim that is alone waits for a writer that holds its stream',
    file: 'routines/32_claim_slow.sql',
    find: 'for update skip locked',
    replace: '',
    caught: ['sql/move-up.test.ts', 'its stream is claimed from by whoever is alone'],
  },
  {
    name: 'a draw does not look whether its cursor still holds',
    file: 'routines/31_claim_parts.sql',
    find: 'and (select s.start_after from tock.streams s where s.number = $1) <= $2',
    replace: '',
    caught: ['sql/move-up.test.ts', 'a claim whose stream slept and woke'],
  },
  {
    name: 'rest() chooses its epoch before it has the slot',
    file: 'routines/16_streams.sql',
    find: /(continue when not tock\.wait_for_lock\(1073741824 \+ v_slot\);[\s\S]*?)select e\.\* into v_hot from tock\.epochs e where e\.number = tock\.newest_epoch\(\);/,
    replace:
      'select e.* into v_hot from tock.epochs e where e.number = tock.newest_epoch();\n    {inside}',
    caught: ['sql/move-up.test.ts', 'rest judges streams by the epoch'],
  },
  {
    ...settle,
    name: 'an epoch is settled over an open writer',
    find: 'and not e.writers_at_end && v_writers',
    replace: '',
    caught: ['sql/settle.test.ts', 'an epoch is not settled while one of its writers is open'],
  },
  {
    ...settle,
    name: 'an epoch is settled over a prepared writer',
    find: "and not exists (select from unnest(v_writers) w where w like '-1/%')",
    replace: '',
    caught: ['faults/prepared-epoch.test.ts', 'an epoch that ended before a crash'],
  },
  {
    ...settle,
    name: 'an epoch is settled over an open lease',
    find: 'or exists (select from tock.leases_%1$s l where l.closed_at is null)',
    replace: '',
    caught: ['sql/settle.test.ts', 'an epoch with runs still to claim'],
  },
  {
    ...settle,
    name: 'an epoch is settled over a stream that is still on its way to it',
    find: /or \(select r\.position from tock\.runs_%1\$s r where r\.stream = s\.number limit 1\) is not null\s*or \(select l\.last_position[^)]*\) is not null/,
    replace: '',
    caught: ['sql/drop.test.ts', 'an old epoch that is kept holds no later one'],
  },
  {
    ...settle,
    name: 'an epoch is settled under an old snapshot',
    find: "v_settled integer := 0;\nbegin\n  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then",
    replace: 'v_settled integer := 0;\nbegin\n  if false then',
    caught: ['sql/settle.test.ts', 'nor is one settled under a snapshot from before'],
  },
  {
    ...settle,
    name: 'sixty-four epochs that are kept hold all later ones',
    find: 'order by pg_catalog.random() limit 64',
    replace: 'order by e.number limit 64',
    caught: ['sql/drop.test.ts', 'a settled epoch is dropped though more than sixty-four'],
  },
  {
    ...settle,
    name: 'the sequence is set to the end of an old epoch wherever it stands',
    find: /where s\.last_value between v_current\.first_position \+ 1 and v_current\.end_position - 1048576;/,
    replace: ';',
    caught: ['sql/retention.test.ts', 'is left to fill up when little of it is left'],
  },
  {
    ...audit,
    name: 'the audit forgets which queues it has seen',
    find: 'audit_stream = null, queues = v_epoch.queues',
    replace: 'audit_stream = null',
    caught: ['sql/retention.test.ts', 'a queue hides what ended'],
  },
  {
    ...audit,
    name: 'the audit forgets where it was within a stream',
    find: 'audit_position = v_epoch.audit_position,',
    replace: 'audit_position = null,',
    caught: ['sql/audit-duty.test.ts', 'an audit of a few runs a call'],
  },
  {
    ...audit,
    name: 'the audit requeues only what lies in no lease',
    find: /\s*or \(j\.excess > 0 and \(j\.late or j\.excess <> j\.late_ones\)\)/,
    replace: '',
    caught: ['sql/audit-duty.test.ts', 'a run that appeared within a leased range'],
  },
  {
    ...retain,
    name: 'an epoch is dropped by the shortest retention in it',
    find: 'select max((tock.policy(q)).retention_seconds)',
    replace: 'select min((tock.policy(q)).retention_seconds)',
    caught: ['sql/retention.test.ts', 'a queue hides what ended'],
  },
  {
    ...retain,
    name: 'an epoch is dropped before its audit',
    find: 'and e.audited_at is not null',
    replace: '',
    caught: ['sql/audit-duty.test.ts', 'an epoch is not dropped before its audit'],
  },
  {
    ...retain,
    name: 'a drop does not back off',
    find: "and coalesce(e.drop_after, '-infinity') < pg_catalog.now()",
    replace: '',
    caught: ['sql/drop.test.ts', 'a drop waits for no reader'],
  },
  {
    name: 'a task is forgotten with the epoch of its first run',
    file: 'routines/74_let_go.sql',
    find: 'v_done integer := tock.send_on(p_epoch, p_limit);',
    replace: 'v_done integer := 0;',
    caught: ['sql/drop.test.ts', 'ready, running and done'],
  },
  {
    name: 'a replacement is not judged before what it replaces is dropped',
    file: 'routines/74_let_go.sql',
    find: 'v_done := tock.judge_replacements(p_epoch);',
    replace: 'v_done := 0;',
    caught: ['sql/drop.test.ts', 'nor what is ready in a later epoch'],
  },
];
