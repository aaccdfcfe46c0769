import type { Bug } from './bugs.ts';

const http: Pick<Bug, 'file'> = { file: 'routines/81_http.sql' };

/** Keys, and what the HTTP door calls most. */
export const doors: Bug[] = [
  {
    name: 'a revoked key is let in',
    file: 'routines/80_lets_in.sql',
    find: 'case when k.revoked_at is null and p_scope',
    replace: 'case when p_scope',
    caught: ['sql/keys.test.ts', 'a revoked key is refused from then on'],
  },
  {
    ...http,
    name: 'whoever has any key enqueues',
    find: "if not coalesce(tock.lets_in(p_key, 'enqueue', p_queue), false) then",
    replace: 'if false then',
    caught: ['http/one-statement.test.ts', 'a key is judged before the verb does anything'],
  },
  {
    ...http,
    name: 'a key for some queues completes what is of others',
    find: 'tock.queue_of_lease(p_lease)',
    replace: 'null',
    caught: ['http/bodies.test.ts', 'a key for some queues completes only'],
  },
  {
    ...http,
    name: 'results are lost in a completion',
    find: "if p_body -> 'results' is null then",
    replace: 'if true then',
    caught: ['http/bodies.test.ts', 'a completion is answered as before'],
  },
  {
    ...http,
    name: 'options are lost where one task is enqueued',
    find: "and p_body - 'payload' = '{}'",
    replace: '',
    caught: ['http/bodies.test.ts', 'one task keeps its options'],
  },
  {
    ...http,
    name: 'ids are numbers where many are claimed',
    find: 'c.id::text as id',
    replace: 'c.id as id',
    caught: ['http/bodies.test.ts', 'a claim of many is answered as before'],
  },
  {
    ...http,
    name: "a claim's answer has a tenant's quotes as they are",
    find: "coalesce(pg_catalog.to_json(v_run.tenant), 'null')",
    replace: `coalesce('"' || v_run.tenant || '"', 'null')`,
    caught: ['http/bodies.test.ts', 'a claim of one is answered as before'],
  },
  {
    ...http,
    name: 'who passed over much is sent away',
    find: "if tock.claim_answer() = 'passing' then",
    replace: 'if false then',
    caught: ['http/claim-state.test.ts', 'a claim that passed over much says'],
  },
];
