import type { Mutant } from './mutants.ts';

/** The HTTP server: authorization, limits of size, and time limits. */
export const http: Mutant[] = [
  {
    name: 'a body is read before its key is checked',
    in: 'functions',
    find: "const key = c.get('rights') === 'key' ? bearerKey(c.req.header('authorization')) : '';",
    replace:
      "await c.req.raw.clone().body?.getReader().read(); const key = c.get('rights') === 'key' ? bearerKey(c.req.header('authorization')) : '';",
    caught: [
      'http/request-body.test.ts',
      'the body of a request without a valid form of key is not read',
    ],
  },
  {
    name: 'a body without a length is read to its end',
    in: 'functions',
    find: 'if (size > MAX_BYTES) throw tooLarge();',
    replace: 'if (size > 100 * MAX_BYTES) throw tooLarge();',
    caught: ['http/request-body.test.ts', 'a body without a length is read only up to the limit'],
  },
  {
    name: 'a slow body is waited for without end',
    in: 'functions',
    find: 'await Promise.race([read(), watch.late])',
    replace: 'await read()',
    caught: [
      'http/request-body.test.ts',
      'a body that arrives too slowly is refused, and no database connection was opened for it',
    ],
  },
  {
    name: 'a large body of an unknown key is read',
    in: 'functions',
    find: 'let asked = length > UNKNOWN_BYTES;',
    replace: 'let asked = false;',
    caught: ['http/request-body.test.ts', 'a large body of an unknown key is not read to its end'],
  },
  {
    name: 'one key can take all places',
    in: 'functions',
    find: 'const SPARE = 1 / 4;',
    replace: 'const SPARE = 0;',
    caught: [
      'http/concurrency-limits.test.ts',
      'a key that uses up the limit leaves spare slots to other keys',
    ],
  },
  {
    name: 'a sandboxed page may call where null is listed',
    in: 'functions',
    find: '.filter(isUrl)',
    replace: '.filter((one) => isUrl(one) || one)',
    caught: ['http/cors.test.ts', 'an origin `null` and a listed * allow no page'],
  },
  {
    name: 'the size of a payload is not checked before it is written',
    in: 'tock.http_enqueue',
    find: 'if pg_catalog.pg_column_size(v_body) > 262144 then',
    replace: 'if false then',
    caught: ['http/payload-size.test.ts', 'a payload that is too large is refused before'],
  },
  {
    name: 'a NUL goes through to the database',
    in: 'functions',
    find: "if (value.includes('\\0')) return …;",
    replace: '',
    caught: ['fuzz/fuzz.test.ts', 'any JSON payload is stored as sent, or refused with the field'],
  },
  {
    name: 'an error shows its stack',
    in: 'functions',
    find: 'return { status, detail: message, field: detail || undefined',
    replace: 'return { status, detail: String(error.stack), field: detail || undefined',
    caught: [
      'fuzz/fuzz.test.ts',
      'valid requests are answered as the document says, and stored as sent',
    ],
  },
];
