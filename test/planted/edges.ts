import type { Bug } from './bugs.ts';

/** What the HTTP door takes, from whom, and how long it waits. */
export const edges: Bug[] = [
  {
    name: 'a body is read before anybody looks for a key',
    file: 'functions/endpoint.ts',
    find: "    const key = bearerKey(c.req.header('authorization'));",
    replace: `    await c.req.raw.clone().body?.getReader().read();
    const key = bearerKey(c.req.header('authorization'));`,
    caught: ['http/body.test.ts', 'of a request without a key, or with what is none'],
  },
  {
    name: 'a body without a length is read to its end',
    file: 'functions/body.ts',
    find: 'if (size > MAX_BYTES) throw tooLarge();',
    replace: 'if (size > 100 * MAX_BYTES) throw tooLarge();',
    caught: ['http/body.test.ts', 'a body without a length is cut at the limit'],
  },
  {
    name: 'a probe leaves its timer behind, and Node cannot end',
    file: 'functions/routes/health.ts',
    find: '.finally(() => clearTimeout(timer))',
    replace: '',
    caught: ['http/doors.test.ts', 'a probe that is answered leaves no timer behind'],
  },
  {
    name: 'a slow body is waited for without end',
    file: 'functions/body.ts',
    find: 'await Promise.race([read(), watch.late])',
    replace: 'await read()',
    caught: ['http/body.test.ts', 'a body that comes too slowly is given up'],
  },
  {
    name: 'refusals have no headers for browsers',
    file: 'functions/secure.ts',
    find: "if (!c.res.headers.has('Cache-Control'))",
    replace: "if (c.res.ok && !c.res.headers.has('Cache-Control'))",
    caught: ['http/secure.test.ts', 'is data to a browser, and nothing else'],
  },
  {
    name: "what may be read by one origin's pages is kept for another's",
    file: 'functions/origins.ts',
    find: "if (listed.length > 0) c.header('Vary', 'Origin', { append: true });",
    replace: '',
    caught: ['http/secure.test.ts', 'is data to a browser, and nothing else'],
  },
  {
    name: 'a page in a sandbox may call where null is listed',
    file: 'functions/origins.ts',
    find: '.filter(isSome)',
    replace: '.filter((one) => isSome(one) || one)',
    caught: ['http/origins.test.ts', 'a page that is nobody'],
  },
  {
    name: 'what ends work takes a place among the others',
    file: 'functions/routes/leases.ts',
    find: "share: 'ends'",
    replace: "share: 'enqueues'",
    caught: ['http/shed.test.ts', 'enqueues over the places of an isolate'],
  },
  {
    name: 'who has been answered keeps his place',
    file: 'functions/shed.ts',
    find: `  } finally {
    leave();
  }`,
    replace: '  } finally {}',
    caught: ['http/shed.test.ts', 'enqueues over the places of an isolate'],
  },
  {
    name: 'large bodies fill the memory',
    file: 'functions/body.ts',
    find: 'grown(size);',
    replace: '',
    caught: ['http/shed.test.ts', 'large bodies share what an isolate holds'],
  },
  {
    name: 'a large body of an unknown key is begun',
    file: 'functions/body.ts',
    find: 'let asked = length > UNKNOWN_BYTES;',
    replace: 'let asked = false;',
    caught: ['http/body.test.ts', 'of a large body of a key that is not known'],
  },
  {
    name: 'one key can take all places',
    file: 'functions/shed.ts',
    find: 'const SPARE = 1 / 4;',
    replace: 'const SPARE = 0;',
    caught: ['http/shed.test.ts', 'a key that takes all places keeps no other out'],
  },
  {
    name: 'a place that nobody gave back is lost',
    file: 'functions/shed.ts',
    find: 'if (since > longAgo) break;',
    replace: 'if (since > longAgo || since <= longAgo) break;',
    caught: ['http/shed.test.ts', 'a place is free again after two minutes'],
  },
  {
    name: 'all who wait look at once',
    file: 'functions/poll.ts',
    find: 'await placed(look, end, gone)',
    replace: 'nothing',
    caught: ['http/shed.test.ts', 'calls that wait look from a thirtieth of the places'],
  },
  {
    name: 'who has gone is looked for as soon as there is a place',
    file: 'functions/poll.ts',
    find: `    // What it found would go to nobody.
    if (gone.aborted) return null;
`,
    replace: '',
    caught: ['http/poll.test.ts', 'a client that goes while it waits for a place'],
  },
  {
    name: 'what ends work waits behind the enqueues in the pool',
    file: 'functions/pooled.ts',
    find: 'return DATABASE_URL_ENDS ? ',
    replace: 'return !DATABASE_URL_ENDS ? ',
    caught: ['ways/flood.test.ts', 'completions are answered while enqueues have filled the pool'],
  },
  {
    name: 'a full pool is no better than a lost database',
    file: 'functions/pooled.ts',
    find: '/query_wait_timeout|max_client_conn|',
    replace: '/',
    caught: ['ways/flood.test.ts', 'a pool that is full is a 503 that says so'],
  },
  {
    name: 'a statement is waited for without end',
    file: 'functions/ways/pg.ts',
    find: 'query_timeout: QUERY_MS,',
    replace: '',
    caught: ['ways/patience.test.ts', 'a database that falls silent is a 503'],
  },
  {
    name: 'an answer over HTTPS is waited for without end',
    file: 'functions/ways/neon_http.ts',
    find: '{ signal: AbortSignal.timeout(NEON_HTTP_MS) }',
    replace: '{ signal: new AbortController().signal, ms: NEON_HTTP_MS }',
    caught: ['ways/patience.test.ts', 'a database that falls silent is a 503'],
  },
  {
    name: 'a Durable Object is waited for without end',
    file: 'functions/tell.ts',
    find: "{ method: 'POST', signal }",
    replace: "{ method: 'POST', ...(!signal && { signal }) }",
    caught: ['ways/patience.test.ts', 'a Durable Object that never answers'],
  },
  {
    name: 'the edge may leave a transaction open',
    file: 'routines/05_roles.sql',
    find: "        alter role tock_edge set idle_in_transaction_session_timeout = '60s';\n",
    replace: '',
    caught: ['sql/roles-cluster.test.ts', 'where a dump came without its roles'],
  },
];
