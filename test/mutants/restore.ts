import type { Mutant } from './mutants.ts';

/** A sequence behind what is stored: restore, failover, branch; and the archive. */
export const restore: Mutant[] = [
  {
    name: 'a stream is opened below its newest run',
    in: 'tock.open_stream',
    find: 'perform tock.check_sequence(greatest(v_newest, tock.newest_run(v_number)));',
    replace: '',
    caught: ['faults/sequence.test.ts', 'with the sequence set back,'],
  },
  {
    name: 'the guard looks only whether the server changed',
    in: 'tock.guard',
    find: 'if v_highest > v_reached or (v_seen <> v_identity and v_seen <> 0) then',
    replace: 'if v_seen <> v_identity and v_seen <> 0 then',
    caught: ['faults/sequence.test.ts', 'a sequence behind streams at rest'],
  },
  {
    name: 'a segment that is over takes tasks again',
    in: 'tock.guard_before_use',
    find: 'and not exists (select from tock.segments e where (e.started_at is not null or e.closed_at is not null) … + 1)',
    replace: '',
    caught: ['faults/sequence.test.ts', 'a sequence set back into a segment that is over'],
  },
  {
    name: 'the first call after a failover goes unguarded',
    in: 'tock.take_slot',
    find: 'if tock.current_segment() is null then perform tock.guard_before_use(); perform tock.create_next_segment(); end if; for v_step in 0',
    replace:
      'if tock.current_segment() is null then perform tock.create_next_segment(); end if; for v_step in 0',
    caught: ['faults/standby.test.ts', 'a promoted standby without the last changes gives no id'],
  },
  {
    name: 'the sequence jumps just above what is stored',
    in: 'tock.guard',
    find: 'greatest(v_reached, v_highest) + 1048576',
    replace: 'greatest(v_reached, v_highest) + 1',
    caught: ['faults/standby.test.ts', 'a promoted standby without the last changes gives no id'],
  },
  {
    name: 'a queue that pauses after a restore gives tasks',
    in: 'tock.begin_claim',
    find: 'if tock.is_paused(v_policy) then v_claim.allowed := 0;',
    replace: 'if v_policy.paused then v_claim.allowed := 0;',
    caught: ['faults/point-in-time.test.ts', 'claims of a queue with pause_after_restore'],
  },
  {
    name: 'a part is recorded that has changed meanwhile',
    in: 'tock.archived',
    find: 'if (v_rows.count, v_rows.digest) is distinct from (p_rows, p_digest) then',
    replace: 'if v_rows.count is null then',
    caught: ['archive/faults.test.ts', 'is erased between a part and its record'],
  },
  {
    name: 'an erased task stays in its file',
    in: 'functions',
    find: 'for (const column of erasedColumns) erasedRow[indexOf(column)] = null;',
    replace: '',
    caught: ['archive/archive.test.ts', 'no file has it after a step'],
  },
  {
    name: 'an erased task is shown until its file is rewritten',
    in: 'tock.archived_run',
    find: 'v_run.payload := null;',
    replace: '',
    caught: ['archive/archive.test.ts', 'an erased task has no payload at once'],
  },
];
