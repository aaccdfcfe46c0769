import type { Bug } from './bugs.ts';

const settings = 'sql/push.test.ts';
const headers = 'sql/headers.test.ts';
const delivered = 'push/deliver.test.ts';
const drained = 'push/drain.test.ts';
const secret = 'push/secret.test.ts';
const named = 'push/node.test.ts';
const unsent = 'a task that nobody could send is refused';

/** Headers, and what is pushed to endpoints. */
export const pushes: Bug[] = [
  {
    name: 'one plain task comes into a queue that says not where to push it',
    file: 'routines/45_hot.sql',
    find: " and (q.push is null or q.push ? 'url')",
    replace: '',
    caught: [settings, unsent],
  },
  {
    name: 'plain tasks come into a queue that says not where to push them',
    file: 'routines/21_enqueue.sql',
    find: "and (v_policy.push is null or v_policy.push ? 'url') and",
    replace: 'and',
    caught: [settings, unsent],
  },
  {
    name: 'a secret is rotated again while the one before still signs',
    file: 'routines/83_push.sql',
    find: "coalesce(q.push_previous_until, '-infinity') <= pg_catalog.clock_timestamp()",
    replace: 'true',
    caught: [settings, 'a secret is rotated with an overlap, and in that time not twice'],
  },
  {
    name: 'queues that are empty are pushed from',
    file: 'routines/83_push.sql',
    find: 'and not tock.has_unread(v_queue.name)',
    replace: 'and false',
    caught: [settings, 'queues to push from are those with push that may have something'],
  },
  {
    name: 'a thousand queues that are idle are looked at, and the others are not',
    file: 'routines/83_push.sql',
    find: 'and (q.name = p_queue\n        or',
    replace: 'and (true or q.name = p_queue\n        or',
    caught: [settings, 'of thousands of queues with push the one that has something is found'],
  },
  {
    name: 'a url of null counts as one',
    file: 'routines/12_queues.sql',
    find: 'pg_catalog.jsonb_strip_nulls(v_given.value)',
    replace: 'v_given.value',
    caught: [settings, unsent],
  },
  {
    name: "headers are another run's of the lease",
    file: 'routines/44_hot_asked.sql',
    find: '(r.position << 20 | l.stream)::text, pg',
    replace: '(l.last_position << 20 | l.stream)::text, pg',
    caught: [headers, 'of a lease with several tasks each has its own headers'],
  },
  {
    name: 'a task that runs again has lost its headers',
    file: 'routines/67_rerun.sql',
    find: "'{unique_key,expires_at,",
    replace: "'{headers,unique_key,expires_at,",
    caught: [headers, 'headers stay with a task'],
  },
  {
    name: 'what is erased keeps its headers',
    file: 'routines/74_archived_read.sql',
    find: ',headers,push_url}',
    replace: '}',
    caught: [headers, 'an erased task has neither headers nor a URL'],
  },
  {
    name: 'addresses of private networks are public',
    file: 'functions/push/guard.ts',
    find: "parsed.range() === 'unicast' && ",
    replace: '',
    caught: ['push/guard.test.ts', ' may not'],
  },
  {
    name: 'only the first target is judged',
    file: 'functions/push/deliver.ts',
    find: '    check(url, from, env);',
    replace: '    if (from === null) check(url, from, env);',
    caught: [delivered, 'each target of a redirect is judged again'],
  },
  {
    name: 'https may become http',
    file: 'functions/push/deliver.ts',
    find: "from?.startsWith('https:')",
    replace: 'from === url',
    caught: [delivered, 'each target of a redirect is judged again'],
  },
  {
    name: 'the addresses of a name are not judged',
    file: 'functions/push/node.ts',
    find: 'found.find(({ address }) => !allowed(address))',
    replace: 'found.find(() => false)',
    caught: [named, 'a name that leads into a private network is not connected to'],
  },
  {
    name: 'of several addresses the first is judged',
    file: 'functions/push/node.ts',
    find: 'found.find(',
    replace: 'found.slice(0, 1).find(',
    caught: [named, 'of a name with several addresses none may be private'],
  },
  {
    name: 'a repeated push has another webhook-id',
    file: 'functions/push/deliver.ts',
    find: 'signed(secrets, task.id, body)',
    replace: 'signed(secrets, task.run_id, body)',
    caught: [drained, 'what failed is pushed again under the same webhook-id'],
  },
  {
    name: 'the secret before does not sign',
    file: 'functions/push/secret.ts',
    find: '[...current, ...previous]',
    replace: '[...current]',
    caught: [secret, 'while a rotation overlaps both secrets verify'],
  },
  {
    name: 'the secret before signs for ever',
    file: 'functions/push/secret.ts',
    find: ' && Date.parse(of.previous_until) > Date.now()',
    replace: '',
    caught: [secret, 'while a rotation overlaps both secrets verify'],
  },
  {
    name: 'Retry-After is not heard',
    file: 'functions/push/deliver.ts',
    find: 'const seconds = retryAfter(response);',
    replace: 'const seconds = null as number | null;',
    caught: [drained, 'what failed is pushed again under the same webhook-id, after the wait'],
  },
  {
    name: 'an endpoint that is gone is tried again',
    file: 'functions/push/deliver.ts',
    find: "if (status === 410) return fatal(message, said('Gone'));",
    replace: "if (status === 410) return failing(new Error(message), said('Gone'));",
    caught: [drained, 'an endpoint that is gone gets no task twice'],
  },
  {
    name: 'an answer is read to its end',
    file: 'functions/push/answer.ts',
    find: 'if (some.length < value.length) {',
    replace: 'if (length > 1e12) {',
    caught: [delivered, 'of a huge answer the beginning is kept'],
  },
  {
    name: 'an answer is measured as it came, not as it is stored',
    file: 'functions/push/answer.ts',
    find: 'return storedBytes(value) <= MOST_STORED ? value : undefined;',
    replace: 'return storedBytes(value) > 0 ? value : undefined;',
    caught: [drained, 'a task is done whose answer grows when it is stored'],
  },
  {
    name: 'an answer of control characters is too large to be stored',
    file: 'functions/push/answer.ts',
    find: 'bytesOf(JSON.stringify(kept)) <= MOST_STORED',
    replace: 'kept.length <= MOST_STORED',
    caught: [drained, 'a task is done whose answer grows when it is stored'],
  },
  {
    name: 'a 410 whose body breaks off is no 410',
    file: 'functions/push/deliver.ts',
    find: 'if (response.ok || signal.aborted) throw error;',
    replace: 'throw error;',
    caught: [delivered, 'holds though its body breaks off'],
  },
  {
    name: 'queues beyond the first look wait for another invocation',
    file: 'functions/consumers/drain.ts',
    find: 'if (list === consumers && list.length === 1) return;',
    replace: 'if (list.length !== 0) return;',
    caught: [drained, 'of more queues than one look finds none waits'],
  },
  {
    name: 'a push that its time cuts short has failed',
    file: 'functions/push/consumers.ts',
    find: 'granted >= Math.min(wanted, DEFAULT_TIMEOUT) ? granted : null',
    replace: 'granted > 0 ? granted : null',
    caught: [drained, 'a push that its time cuts short is given back'],
  },
  {
    name: 'as many pushes as there are queues are under way at once',
    file: 'functions/push/consumers.ts',
    find: 'slots(MOST_AT_ONCE)',
    replace: 'slots(1000)',
    caught: [drained, 'no more than five are under way at once'],
  },
  {
    name: "a task's headers are those of the request",
    file: 'functions/push/headers.ts',
    find: '!notATasks.has(name) && !prefixes.test(name)',
    replace: "!prefixes.test(name) && name !== 'host'",
    caught: [delivered, 'a push is a POST that says what it is, signed'],
  },
];
