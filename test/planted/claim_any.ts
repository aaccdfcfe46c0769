import type { Bug } from './bugs.ts';

const file = 'routines/37_claim_any.sql';
const own = 'sql/claim-any.test.ts';
const repeats = 'sql/claim-any-repeats.test.ts';

/** Claims from several queues. */
export const claimAny: Bug[] = [
  {
    name: 'each queue gives as much as the limit',
    file,
    find: 'p_limit => v_left',
    replace: 'p_limit => p_limit',
    caught: [own, 'the first queue gives what it has'],
  },
  {
    name: 'weights say only whose turn may be first',
    file,
    find: '/ q.weight end',
    replace: '/ 1 end',
    caught: [own, 'shares follow the weights'],
  },
  {
    name: 'a queue that gives nothing ends the call',
    file,
    find: 'exit when v_left <= 0',
    replace: 'exit when v_got = 0 or v_left <= 0',
    caught: [own, 'paused, limited and locked queues hold up nobody'],
  },
  {
    name: 'the last queue speaks for all',
    file,
    find: 'v_states := v_states || v_state;',
    replace: 'v_states := array[v_state];',
    caught: [own, 'what a claim of several says'],
  },
  {
    name: 'a claim from several queues ignores that it is a repeated one',
    file,
    find: 'if v_got is not null then',
    replace: 'if false then',
    caught: [repeats, 'a claim from several queues repeated with its request id'],
  },
  {
    name: 'a repeated claim goes by the first queue alone',
    file,
    find: 'v_tokens[pg_catalog.array_position(v_queues, v_queue)] := v_seen.token;',
    replace: 'v_tokens[1] := coalesce(v_tokens[1], v_seen.token);',
    caught: [repeats, 'a claim from several queues repeated with its request id'],
  },
  {
    name: 'a claim from several queues may lose one that is limited in a crash',
    file,
    find: /v_durable := tock\.lease_asks\(v_lease\)[^;]*;/,
    replace: 'v_durable := tock.lease_asks(v_lease);',
    caught: [own, 'it commits asynchronously when it is alone'],
  },
  {
    name: 'each queue may give an answer of full size',
    file,
    find: 'p_bytes => 4194304 - v_bytes',
    replace: 'p_bytes => 4194304',
    caught: [own, "an answer's size is bounded over all queues"],
  },
  {
    name: 'each queue may give one task of any size',
    file: 'routines/30_claim.sql',
    find: 'v_first and v_drawn = 0, v_policy',
    replace: 'v_drawn = 0, v_policy',
    caught: [own, "an answer's size is bounded over all queues"],
  },
  {
    name: 'a claim from several queues leaves late duties to others',
    file,
    find: /pg_catalog\.random\(\) < 0\.0625 then([\s\S]*?)exit when not tock\.ride_along\(\);/,
    replace: 'false then{inside}exit;',
    caught: [own, 'alone it promotes what is due'],
  },
];
