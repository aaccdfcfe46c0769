import type { Bug } from './bugs.ts';

const file = 'routines/36_limits.sql';
const own = 'sql/limits.test.ts';
const rates = 'sql/limits-rates.test.ts';
const load = 'sql/limits-load.test.ts';

/** Limits of a whole queue. */
export const limits: Bug[] = [
  {
    name: 'a limit is asked before its lock is held, and nobody looks again',
    file,
    find: /v_one := tock\.allowance_of\(p_queue, p_policy\);([\s\S]*?)if not v_alone then/,
    replace: '{inside}if false then',
    caught: [load, 'eight workers, some of them killed'],
  },
  {
    name: 'a reset of what has no limit is on record',
    file,
    find: 'if not exists (select from tock.limits(p_queue)) then',
    replace: 'if not exists (select from tock.queues q where q.name = p_queue) then',
    caught: ['sql/acts.test.ts', 'what has nothing to do'],
  },
  {
    name: 'claims of one know no limit',
    file: 'routines/45_hot.sql',
    find: 'and q.max_running is null and q.rate_limit is null',
    replace: '',
    caught: [load, 'eight workers, some of them killed'],
  },
  {
    name: 'a limit has no lock',
    file,
    find: 'elsif pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_key) or (p_wait and tock.wait_for_lock(v_key)) then',
    replace: 'else',
    caught: [own, 'a claim that stands open makes others busy'],
  },
  {
    name: 'a claim with an old snapshot goes by the next number alone',
    file,
    find: 'elsif v_before > 0 then',
    replace:
      "elsif v_before > 0 and pg_catalog.current_setting('transaction_isolation') = 'read committed' then",
    caught: [own, 'a claim under a repeatable read snapshot from before another'],
  },
  {
    name: 'no first claim at a limit is on record for good',
    file,
    find: 'if p_asked.number is null then',
    replace: 'if false then',
    caught: [own, 'a claim under a snapshot from before the first claim'],
  },
  {
    name: 'a claim believes an old snapshot that there is no limit',
    file: 'routines/30_claim.sql',
    find: 'perform tock.check_policy_is_new(v_policy.name);',
    replace: '',
    caught: [own, 'a claim under a snapshot from before the limit'],
  },
  {
    name: 'a run keeps its place until its whole lease has ended',
    file,
    find: 'l.runs - x.ended as runs',
    replace: 'l.runs as runs',
    caught: [own, 'a queue never has more running than its limit'],
  },
  {
    name: 'a lease that has run out holds no place',
    file,
    find: "where coalesce(l.closed_at, 'infinity') = 'infinity')",
    replace: "where coalesce(l.closed_at, 'infinity') = 'infinity' and l.leased_until > now())",
    caught: [own, 'a lease that has run out keeps its place'],
  },
  {
    name: 'what was skipped has ended and makes room',
    file,
    find: /\n\s*and e\.position <> all \(coalesce\(l\.skips, '\{\}'\)\) offset 0/,
    replace: ' union all select pg_catalog.cardinality(l.skips) offset 0',
    caught: [own, 'retried, large and cancelled tasks'],
  },
  {
    name: 'leases from before the limit are not counted',
    file,
    find: 'else tock.open_leases(p_queue) end',
    replace: "else '{}' end",
    caught: [own, 'a limit set while tasks run counts them'],
  },
  {
    name: 'claims that stood open when the limit was set are not waited for',
    file,
    find: "and l.virtualtransaction !~ '/0$'",
    replace: 'and false',
    caught: [own, 'a limit set while tasks run counts them'],
  },
  {
    name: 'the record is believed though the limit was off for a while',
    file,
    find: 'when v_row.limited_at = p_policy.limited_at and v_row.leases is not null',
    replace: 'when v_row.leases is not null',
    caught: [own, 'a limit that was off for a while'],
  },
  {
    name: 'leases of an earlier epoch hold no place',
    file,
    find: 'where e.settled_at is null and e.number = any',
    replace: 'where e.number = tock.newest_epoch() and e.number = any',
    caught: [own, 'open leases of an earlier epoch keep their places'],
  },
  {
    name: 'the record keeps what has ended',
    file,
    find: 'v_one.leases := v_one.leases || v_open;',
    replace: 'v_one.leases := v_tokens;',
    caught: ['sql/flat.test.ts', 'a claim at a limit is as cheap'],
  },
  {
    name: 'a start takes nothing from the bucket',
    file,
    find: 'p_asked.level - p_started',
    replace: 'p_asked.level',
    caught: [load, 'however many ask, no window holds more'],
  },
  {
    name: 'a bucket has no bottom',
    file,
    find: 'v_one.level := least(v_one.level, coalesce(v_row.level, v_one.level)',
    replace: 'v_one.level := (coalesce(v_row.level, v_one.level)',
    caught: [rates, 'a rate lets a burst start'],
  },
  {
    name: 'a claim at a limit, lost in a crash, is one too many',
    file: 'routines/30_claim.sql',
    find: 'and not v_limited then',
    replace: 'then',
    caught: ['faults/crash.test.ts', 'a limit holds after a crash'],
  },
  {
    name: 'only a claim that takes something brings what is open on record',
    file,
    find: 'if v_one.allowed < 1 and v_one.unwritten is not true then',
    replace: 'if v_one.allowed < 1 then',
    caught: [own, 'a look that claims nothing still brings'],
  },
  {
    name: 'a claim at a limit may be lost in a crash',
    file: 'routines/30_claim.sql',
    find: 'and not v_limited then',
    replace: 'then',
    caught: [rates, 'a claim at a limit commits synchronously'],
  },
  {
    name: 'a claim at its limit leaves late reaping to others',
    file: 'routines/30_claim.sql',
    find: 'if v_late and v_allowance.allowed < 1 then',
    replace: 'if false then',
    caught: [own, 'where reaping is late a claim at the limit'],
  },
];
