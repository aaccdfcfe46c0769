import type { Mutant } from './mutants.ts';

/** Segments: created ahead, crossed by claims, closed. */
export const segments: Mutant[] = [
  {
    name: 'two transactions make the same segment',
    in: 'tock.create_segments',
    find: "if not tock.wait_for_lock(tock.named_key('maintenance_job', 'create_segments')) then return 0; end if;",
    replace: '',
    caught: [
      'sql/kernel/segment/segments.test.ts',
      'only one transaction creates segments, and tasks at the end of the last get an error',
    ],
  },
  {
    name: 'a segment is as wide as the caller says',
    in: 'tock.create_segments',
    find: 'coalesce(least(p_width, 1073741824),',
    replace: 'coalesce(p_width,',
    caught: ['sql/kernel/log/lease-tokens.test.ts', 'a segment is at most as wide'],
  },
  {
    name: 'a claim crosses into the next segment without a lease for the gap',
    in: 'tock.resolve_cursor',
    find: 'perform tock.skip_range(p_stream, v_at.after_position, v_first - 1, 0);',
    replace: '',
    caught: [
      'sql/kernel/log/cursors.test.ts',
      'a paused queue is claimed from its oldest run on, ten segments later,',
    ],
  },
  {
    name: 'one lease holds runs of two segments',
    in: 'tock.claim_streams',
    find: 'or (v_streams > 0 and v_place.segment <> v_range.segment)',
    replace: '',
    caught: [
      'sql/kernel/segment/segments.test.ts',
      'a claim that begins in an old segment leaves the current one to the next claim',
    ],
  },
  {
    name: 'a stream is moved on past its next run',
    in: 'tock.advance_start',
    find: 'else v_first - 1 end',
    replace: 'else v_first end',
    caught: [
      'sql/kernel/log/cursors.test.ts',
      'a stream advances to the current segment, and past no unread run',
    ],
  },
  {
    name: 'a segment is settled over an open writer',
    in: 'tock.close_segments',
    find: 'and not e.writers_at_end && v_writers',
    replace: '',
    caught: [
      'sql/kernel/segment/close.test.ts',
      'a segment is not closed while a transaction that wrote to it is open',
    ],
  },
  {
    name: 'a segment is settled over an open lease',
    in: 'tock.close_segments',
    find: 'or exists (select from tock.leases_%1$s l where l.closed_at is null)',
    replace: '',
    caught: ['sql/kernel/segment/close.test.ts', 'a segment with unclaimed runs'],
  },
  {
    name: 'a segment is settled over a stream that has not yet come to it',
    in: 'tock.close_segments',
    find: 'or (select r.position from tock.runs_%1$s r where r.stream = s.number limit 1) is not null or (select l.last_position … ) is not null',
    replace: '',
    caught: [
      'sql/kernel/retention/drop.test.ts',
      'an old segment that is kept does not block later ones, and its tasks stay',
    ],
  },
  {
    name: 'a segment is settled under an old snapshot',
    in: 'tock.close_segments',
    find: "v_settled integer := 0; begin if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then return 0;",
    replace: 'v_settled integer := 0; begin if false then return 0;',
    caught: [
      'sql/kernel/segment/close.test.ts',
      'a snapshot older than the last task of a segment',
    ],
  },
  {
    name: 'two transactions end a segment at once',
    in: 'tock.end_segment',
    find: "elsif not tock.wait_for_lock(tock.named_key('maintenance_job', 'create_segments')) then",
    replace: 'elsif false then',
    caught: ['archive/end-segment.test.ts', 'two calls that end a segment'],
  },
];
