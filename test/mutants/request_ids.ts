import type { Mutant } from './mutants.ts';

/** Calls that are repeated under their request id. */
export const requestIds: Mutant[] = [
  {
    name: 'a repeated enqueue is a new one',
    in: 'tock.enqueue',
    find: 'if v_seen.ids is not null then return v_seen.ids; end if; end if;',
    replace: 'end if;',
    caught: ['sql/kernel/request-id.test.ts', 'a call to enqueue repeated with its request id'],
  },
  {
    name: 'two calls with one request id do not wait for each other',
    in: 'tock.request_seen',
    find: 'perform pg_catalog.pg_advisory_xact_lock(…tock.lock_space()));',
    replace: '',
    caught: ['sql/kernel/request-id.test.ts', 'two calls at once with one request id'],
  },
  {
    name: 'a repeated claim of one is a new one',
    in: 'tock.claim_one',
    find: "if (tock.request_seen('claim', p_queue, p_request_id, v_digest)).token is not null then",
    replace: 'if false then',
    caught: [
      'sql/kernel/request-id.test.ts',
      'repeated with its request id gives the same runs while they are held',
    ],
  },
  {
    name: 'a repeated claim is a new one',
    in: 'tock.begin_claim',
    find: 'if v_seen.token is not null then',
    replace: 'if false then',
    caught: [
      'sql/kernel/request-id.test.ts',
      'repeated with its request id gives the same runs while they are held',
    ],
  },
  {
    name: 'a repeated claim returns runs that are no longer held',
    in: 'tock.leased_runs',
    find: 'where l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp()) select l.token',
    replace: ') select l.token',
    caught: ['sql/kernel/request-id.test.ts', 'a claim repeated after its lease has ended'],
  },
  {
    name: 'a repeated claim from several queues is a new one',
    in: 'tock.claim_any',
    find: 'if v_got is not null then if v_got = 0 then',
    replace: 'if false then if v_got = 0 then',
    caught: [
      'sql/features/multi_claim/claim-any-repeats.test.ts',
      'a claim from several queues repeated with its request id',
    ],
  },
  {
    name: 'a refused rerun uses up its request id',
    in: 'tock.rerun',
    find: 'and pg_catalog.cardinality(v_made) > 0',
    replace: '',
    caught: [
      'sql/features/reruns/rerun.test.ts',
      'a rerun that was refused leaves its request id free',
    ],
  },
  {
    name: 'a repeated enqueue is checked against the payload limit of now',
    in: 'tock.refuse_large_body',
    find: "r.verb = 'enqueue' and r.request_id = p_request_id",
    replace: 'false',
    caught: [
      'http/payload-size.test.ts',
      "a repeated call returns its ids, even if the queue's limit is smaller now",
    ],
  },
];
