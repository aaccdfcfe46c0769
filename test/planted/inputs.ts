import type { Bug } from './bugs.ts';

const payload = 'whatever JSON is a payload, it is kept';

/** What comes in from outside: hostile, broken, or only odd. */
export const inputs: Bug[] = [
  {
    name: 'a NUL goes through to the database',
    file: 'functions/http/unsafe_json.ts',
    find: /if \(value\.includes\('\\0'\)\) return .*;/,
    replace: '',
    caught: ['fuzz/fuzz.test.ts', payload],
  },
  {
    name: 'a cursor that no call gave is an error of the database',
    file: 'routines/61_tasks.sql',
    find: 'when data_exception',
    replace: 'when division_by_zero',
    caught: ['fuzz/fuzz.test.ts', '… refuses a cursor that no call gave'],
  },
  {
    name: "a queue's name is a part of a statement",
    file: 'routines/75_hours.sql',
    find: 'pg_catalog.format($q$s.queue = $1 and (',
    replace: "pg_catalog.format('s.queue = ' || pg_catalog.quote_literal(p_queue) || $q$ and (",
    caught: ['fuzz/statements.test.ts', "no text of a caller's becomes part of a statement"],
  },
  {
    name: 'a refusal shows where it was thrown',
    file: 'functions/http/problem.ts',
    find: 'return { status, detail: message, field: detail || undefined',
    replace: 'return { status, detail: String(error.stack), field: detail || undefined',
    caught: ['fuzz/fuzz.test.ts', 'requests that the document allows'],
  },
  {
    name: 'a payload goes through a double',
    file: 'functions/http/endpoint.ts',
    find: 'return { params, query, body, text, requestId',
    replace: 'return { params, query, body, text: JSON.stringify(json), requestId',
    caught: ['fuzz/fuzz.test.ts', payload],
  },
  {
    name: 'a refused rerun uses up its request id',
    file: 'routines/67_rerun.sql',
    find: ' and pg_catalog.cardinality(v_made) > 0',
    replace: '',
    caught: ['sql/rerun.test.ts', 'a rerun that was refused leaves its request id free'],
  },
  {
    name: 'an epoch can be asked for that has no room',
    file: 'routines/14_epochs.sql',
    find: 'elsif p_width < 1 then',
    replace: 'elsif false then',
    caught: ['sql/verbs.test.ts', 'whatever a verb is called with'],
  },
  {
    name: 'an instant goes through that PostgreSQL has not',
    file: 'functions/http/schemas.ts',
    find: '^(?!0000)',
    replace: '^',
    caught: ['http/bad-input.test.ts', 'the year 0'],
  },
  {
    name: 'a body that breaks off is an error of the server',
    file: 'functions/http/body.ts',
    find: '.catch(() => Promise.reject(brokenOff()))',
    replace: '',
    caught: ['http/body.test.ts', 'a body that breaks off is a 400'],
  },
  {
    name: 'a payload that is too large is written first',
    file: 'routines/81_http.sql',
    find: 'if pg_catalog.pg_column_size(p_body) > 262144 then',
    replace: 'if false then',
    caught: ['http/payload-size.test.ts', 'a payload that is too large is refused before'],
  },
  {
    name: "a tenant's tasks are looked through before their sizes",
    file: 'routines/81_http.sql',
    find: 'if pg_catalog.pg_column_size(p_body) > 262144 then',
    replace: 'if false then',
    caught: ['http/payload-size.test.ts', 'it is refused before a tenant'],
  },
  {
    name: 'a repeated call is judged by what its queue takes by now',
    file: 'routines/81_http.sql',
    find: "r.verb = 'enqueue' and r.request_id = p_request_id",
    replace: 'false',
    caught: ['http/payload-size.test.ts', 'a repeated call is given its ids'],
  },
];
